package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const documents = "../../docs/images"

func TestThePicturesAreWhatTheScenesSay(t *testing.T) {
	for _, p := range pictures {
		t.Run(p.file, func(t *testing.T) {
			g := NewWithT(t)
			drawn, err := p.draw()
			g.Expect(err).NotTo(HaveOccurred())
			committed, err := os.ReadFile(filepath.Join(documents, p.file))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(committed)).To(Equal(drawn), "run 'make diagrams' and commit the result")
			g.Expect(wellFormed(drawn)).To(Succeed())
		})
	}
}

func wellFormed(document string) error {
	decoder := xml.NewDecoder(strings.NewReader(document))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestRequestsGoWhereKubernetesSendsThem(t *testing.T) {
	never, promotes, isPromoted, demotes := [2]bool{false, false}, [2]bool{false, true}, [2]bool{true, true}, [2]bool{true, false}
	for sentence, test := range map[string]struct {
		pods               [2]pod
		promoted           [2]bool
		proxies, ingresses route
		standby            use
	}{
		"ready Pods answer":                                             {podsAre(ready, ready), never, toPods, toPods, unused},
		"one ready Pod is enough":                                       {podsAre(starting, ready), never, toPods, toPods, unused},
		"without a ready Pod kube-proxy alone finds a standby":          {podsAre(notReady, gone), never, toStandby, nowhere, used},
		"all find one that is promoted":                                 {podsAre(gone, gone), promotes, toStandby, toStandby, used},
		"all find one that was promoted before":                         {podsAre(gone, starting), isPromoted, toStandby, toStandby, used},
		"a promoted one answers beside a ready Pod":                     {podsAre(ready, starting), isPromoted, toPods, toPods, leaving},
		"a promoted one answers beside a ready Pod until it is demoted": {podsAre(ready, gone), demotes, toPods, toPods, leaving},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s := scene{moment: moment{pods: test.pods, promoted: test.promoted[1]}, wasPromoted: test.promoted[0]}
			g.Expect(s.proxies()).To(Equal(test.proxies), "kube-proxy")
			g.Expect(s.ingresses()).To(Equal(test.ingresses), "ingress controllers")
			g.Expect(s.standbyIs()).To(Equal(test.standby), "the standby")
			g.Expect(s.answers()).To(Equal(map[bool]colour{true: ok, false: warn}[test.proxies == toPods]))
		})
	}
}

func TestTheConditionsOfAStandbyFollowFromItsPromotion(t *testing.T) {
	for sentence, test := range map[string]struct {
		promoted [2]bool
		want     []condition
	}{
		"a standby is not ready, serving and terminating": {
			[2]bool{false, false}, []condition{{"ready: false", muted}, {"serving: true", ok}, {"terminating: true", warn}},
		},
		"promotion changes two of them": {
			[2]bool{false, true}, []condition{{"ready: false → true", warn}, {"serving: true", ok}, {"terminating: true → false", warn}},
		},
		"demotion changes them back": {
			[2]bool{true, false}, []condition{{"ready: true → false", warn}, {"serving: true", ok}, {"terminating: false → true", warn}},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(scene{moment: moment{promoted: test.promoted[1]}, wasPromoted: test.promoted[0]}.conditions()).To(Equal(test.want))
		})
	}
}

func TestTheBarSaysWhoAnswers(t *testing.T) {
	pods, standby := moment{pods: podsAre(ready, gone)}, moment{pods: podsAre(gone, gone)}
	for sentence, test := range map[string]struct {
		story []moment
		want  []part
	}{
		"no moment has no part":                {nil, nil},
		"a part is as wide as its panel":       {[]moment{pods, standby}, []part{{15, 247, "1", "Pods answer", ok}, {261, 493, "2", "the standby answers", warn}}},
		"moments with the same answer are one": {[]moment{standby, standby, pods}, []part{{15, 493, "1 and 2", "the standby answers", warn}, {507, 739, "3", "Pods answer", ok}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(answering(test.story)).To(Equal(test.want))
		})
	}
}

func TestWordsThatDoNotFitAreAnError(t *testing.T) {
	wordy := picture{file: "wordy.svg", story: []moment{{state: armed, pods: podsAre(ready, ready), standby: "waits for an outage"}}}
	_, err := wordy.draw()
	NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring("wordy.svg"), ContainSubstring(`"waits for an outage"`), ContainSubstring("76 pixels"))))
}
