package v1_test

import (
	"fmt"
	"strings"
	"time"

	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
)

// metadata fills metadata as the tests of Kubernetes do.
var metadata = metafuzzer.Funcs(serializer.NewCodecFactory(runtime.NewScheme()))

// newFiller fills objects as the API server may have stored them: with metadata
// and status of any kind, and a spec that its version's schema accepts.
func newFiller(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.3).NumElements(0, 3).
		Funcs(metadata...).
		Funcs(fillTime, fillV1Spec, fillV2Spec, fillSelector, fillDelay, fillFallback, fillPage, fillProbes, fillPodTemplate)
}

// fillTime makes a time that JSON keeps: whole seconds.
func fillTime(to *metav1.Time, c randfill.Continue) {
	*to = metav1.Unix(c.Rand.Int63n(1<<32), 0).Rfc3339Copy()
}

func fillV1Spec(to *criticalv1.CriticalServiceSpec, c randfill.Continue) {
	*to = criticalv1.CriticalServiceSpec{}
	if c.Bool() {
		to.Namespace = name(c)
	}
	for i := range c.Rand.Perm(1 + c.Rand.Intn(5)) {
		to.MatchLabels = append(to.MatchLabels, criticalv1.LabelMatch{Key: labelKey(c) + fmt.Sprint(i), Value: labelValue(c)})
	}
}

func fillV2Spec(to *criticalv2.CriticalServiceSpec, c randfill.Continue) {
	*to = criticalv2.CriticalServiceSpec{Precedence: criticalv2.PrecedenceDefault}
	if c.Rand.Intn(3) == 0 {
		to.Precedence = criticalv2.PrecedenceEnforced
	}
	switch c.Rand.Intn(4) {
	case 0:
		to.Namespaces = []string{name(c)}
	case 1:
		for i := range 1 + c.Rand.Intn(3) {
			to.Namespaces = append(to.Namespaces, fmt.Sprint(name(c), i))
		}
	case 2:
		to.NamespaceSelector = &metav1.LabelSelector{}
		c.Fill(to.NamespaceSelector)
	}
	c.Fill(&to.ServiceSelector)
	if selector := &to.ServiceSelector; len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0 {
		selector.MatchLabels = map[string]string{labelKey(c): labelValue(c)}
	}
	c.Fill(&to.ActivationDelay)
	c.Fill(&to.DeactivationDelay)
	c.Fill(&to.Fallback)
}

func fillSelector(to *metav1.LabelSelector, c randfill.Continue) {
	*to = metav1.LabelSelector{}
	for range c.Rand.Intn(4) {
		metav1.AddLabelToSelector(to, labelKey(c), labelValue(c))
	}
	for range c.Rand.Intn(3) {
		requirement := metav1.LabelSelectorRequirement{Key: labelKey(c), Operator: metav1.LabelSelectorOpExists}
		if c.Bool() {
			requirement.Operator, requirement.Values = metav1.LabelSelectorOpNotIn, []string{labelValue(c), labelValue(c)}
		}
		to.MatchExpressions = append(to.MatchExpressions, requirement)
	}
}

func fillDelay(to *metav1.Duration, c randfill.Continue) {
	to.Duration = 0
	if c.Bool() {
		to.Duration = time.Duration(c.Rand.Int63n(3_600_001)) * time.Millisecond
	}
}

func fillFallback(to *criticalv2.Fallback, c randfill.Continue) {
	*to = criticalv2.Fallback{}
	switch c.Rand.Intn(3) {
	case 0:
		to.Page = &criticalv2.PageFallback{}
		c.Fill(to.Page)
	case 1:
		to.PodTemplate = &criticalv2.PodTemplateFallback{}
		c.Fill(to.PodTemplate)
	case 2:
		to.Service = &criticalv2.BackupFallback{Name: name(c)}
	}
}

func fillPage(to *criticalv2.PageFallback, c randfill.Continue) {
	*to = criticalv2.PageFallback{StatusCode: 400 + c.Rand.Int31n(200)}
	if c.Bool() {
		to.RetryAfterSeconds, to.Replicas = new(c.Rand.Int31n(86401)), new(1+c.Rand.Int31n(10))
	}
	if c.Bool() {
		to.Message = strings.Map(func(r rune) rune { return max(r, ' ') }, strings.ReplaceAll(c.String(40), "\x7f", ""))
	}
	if c.Bool() {
		to.ConfigMapName = name(c)
	}
	if c.Bool() {
		to.Probes = &criticalv2.Probes{}
		c.Fill(to.Probes)
	}
}

// fillProbes distinguishes a list that is empty (no probe is known by it) from one that
// is absent (the default holds).
func fillProbes(to *criticalv2.Probes, c randfill.Continue) {
	*to = criticalv2.Probes{}
	if c.Bool() {
		to.Paths = []string{}
		for i := range c.Rand.Intn(3) {
			to.Paths = append(to.Paths, fmt.Sprint("/", name(c), i))
		}
	}
	if c.Bool() {
		to.UserAgents = []string{}
		for i := range c.Rand.Intn(3) {
			to.UserAgents = append(to.UserAgents, fmt.Sprint("Probe ", name(c), i))
		}
	}
}

// fillPodTemplate often makes what v1 means, so that v1 can express all of it.
func fillPodTemplate(to *criticalv2.PodTemplateFallback, c randfill.Continue) {
	*to = criticalv2.PodTemplateFallback{Activation: criticalv2.ActivationOnDemand, Publish: criticalv2.PublishSelectorLabels}
	if c.Bool() {
		return
	}
	if c.Bool() {
		to.Name, to.Namespace = name(c), name(c)
	}
	if c.Bool() {
		to.Publish = criticalv2.PublishEndpointSlice
	}
	if to.Publish == criticalv2.PublishEndpointSlice && c.Bool() {
		to.Activation = criticalv2.ActivationStandby
	}
}

func name(c randfill.Continue) string {
	return pick(c, "shop", "till", "a", "storefront-2", strings.Repeat("n", 60))
}

func labelKey(c randfill.Continue) string {
	return pick(c, "role", "app", "example.com/tier", "app.kubernetes.io/name", "Z", "a.b/c")
}

func labelValue(c randfill.Continue) string {
	return pick(c, "", "frontend", "Back_end.2", strings.Repeat("v", 63))
}

func pick(c randfill.Continue, values ...string) string {
	return values[c.Rand.Intn(len(values))]
}
