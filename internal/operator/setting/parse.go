package setting

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/distribution/reference"
)

// Switch reads true or false.
func Switch(into *bool) func(string) error {
	return func(text string) error {
		word, err := oneOf("true", "false")(text)
		*into = word == "true"
		return err
	}
}

// Word reads one of some words, in small letters or capitals.
func Word(into *string, words ...string) func(string) error {
	return func(text string) (err error) {
		*into, err = oneOf(words...)(text)
		return err
	}
}

// Image reads the reference of an image, or nothing.
func Image(into *string) func(string) error {
	return func(text string) (err error) {
		*into = text
		if text != "" {
			_, err = reference.ParseNormalizedNamed(text)
		}
		return err
	}
}

func oneOf(words ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		word := strings.ToLower(text)
		if !slices.Contains(words, word) {
			return "", errors.New("not a known word")
		}
		return word, nil
	}
}

// Names reads names separated by commas; each must pass a check.
func Names(text, what string, check func(string) []string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var found []string
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if Valid(check(name)) != nil {
			return nil, fmt.Errorf("%q is not %s", name, what)
		}
		found = append(found, name)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// httpsAddress checks a URL that has a host, maybe a port, and nothing else.
func httpsAddress(text string) error {
	if text == "" {
		return nil
	}
	address, err := url.Parse(text)
	if err != nil {
		return errors.New("not a URL")
	}
	if address.Hostname() == "" || text != "https://"+address.Host {
		return errors.New("not a URL of https, a host and a port alone")
	}
	return nil
}

func bindAddress(text string) error {
	if text == "0" {
		return nil
	}
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return errors.New("not a host and a port")
	}
	if number, err := strconv.Atoi(port); err != nil || number < 0 || number > 65535 {
		return fmt.Errorf("%q is not a port", port)
	}
	return nil
}

// Valid turns the findings of a Kubernetes name check into one short error: what
// is allowed is said by the setting.
func Valid(findings []string) error {
	if len(findings) == 0 {
		return nil
	}
	return errors.New("not a valid name")
}
