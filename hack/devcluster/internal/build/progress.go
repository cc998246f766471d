package build

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Progress prints what is being built. On a terminal the current line is kept up
// to date; elsewhere (CI) a line now and then shows that the build is alive.
type Progress struct {
	out         io.Writer
	interactive bool
}

// NewProgress reports to f.
func NewProgress(f *os.File) *Progress {
	info, err := f.Stat()
	return &Progress{out: f, interactive: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// Done prints a finished line.
func (p *Progress) Done(format string, args ...any) {
	fmt.Fprintf(p.out, format+"\n", args...)
}

// Run runs a `go build -v` under a label; its output is shown only if it fails.
func (p *Progress) Run(label string, cmd *exec.Cmd) error {
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(stderr)
		const longestLine = 1 << 20
		scanner.Buffer(nil, longestLine)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	output := p.follow(label, lines)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	return nil
}

// follow prints the progress of one build until its output ends, and returns the
// part of the output that is not a package name: downloads and errors.
func (p *Progress) follow(label string, lines <-chan string) string {
	start := time.Now()
	interval := 20 * time.Second
	if p.interactive {
		interval = time.Second
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	if !p.interactive {
		p.Done("%s ...", label)
	}
	var output bytes.Buffer
	packages := 0
	for {
		select {
		case line, open := <-lines:
			if !open {
				p.finish(label, time.Since(start), packages)
				return output.String()
			}
			if isPackage(line) {
				packages++
			} else {
				output.WriteString(line + "\n")
			}
		case <-tick.C:
			p.beat(label, time.Since(start), packages)
		}
	}
}

func (p *Progress) beat(label string, elapsed time.Duration, packages int) {
	text := fmt.Sprintf("%s ... %s, %s compiled", label, shortly(elapsed), plural(packages, "package"))
	if p.interactive {
		fmt.Fprintf(p.out, "\r\033[K%s", text)
		return
	}
	p.Done("%s", text)
}

func (p *Progress) finish(label string, elapsed time.Duration, packages int) {
	if p.interactive {
		fmt.Fprint(p.out, "\r\033[K")
	}
	p.Done("%s ... %s (%s compiled)", label, shortly(elapsed), plural(packages, "package"))
}

// isPackage tells a line of `go build -v` that names a compiled package from a message.
func isPackage(line string) bool {
	return line != "" && !strings.ContainsAny(line, " \t:")
}

// shortly rounds a duration to what a reader wants to know of it.
func shortly(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
