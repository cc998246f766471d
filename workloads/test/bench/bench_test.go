package main

import (
	"io"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/test/bench/measure"
	"github.com/critical-service/operator/test/cluster"
)

func madeByADatabase() *model {
	m := &model{
		secret:  corev1.Secret{Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"username": []byte("root"), "password": []byte("a b/c")}},
		service: corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.0.0.1", Ports: []corev1.ServicePort{{Port: 27017}}}},
	}
	m.pod.ObjectMeta = metav1.ObjectMeta{Name: "model", OwnerReferences: []metav1.OwnerReference{{Name: "model"}}, Labels: map[string]string{"app": "db"}}
	m.pod.Spec = corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{
		Name: "mongo", Image: "mongo:4.0", Env: []corev1.EnvVar{
			{Name: "PLAIN", Value: "x"},
			{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "model-credentials"}, Key: "password",
			}}},
		},
	}}}
	return m
}

func TestThePodByHandIsThatOfADatabase(t *testing.T) {
	g := NewWithT(t)
	m := madeByADatabase()
	pod := m.newPod("by-hand")
	g.Expect(pod.OwnerReferences).To(BeEmpty())
	g.Expect(pod.Spec.NodeName).To(BeEmpty(), "the scheduler chooses again")
	g.Expect(pod.Spec.Containers[0].Env[1].ValueFrom.SecretKeyRef.Name).To(Equal("by-hand-credentials"))
	g.Expect(m.pod.Spec.Containers[0].Env[1].ValueFrom.SecretKeyRef.Name).To(Equal("model-credentials"), "the model stays as it is")
	pod.Spec.Containers[0].Env[1].ValueFrom.SecretKeyRef.Name, pod.Spec.NodeName = "model-credentials", "node"
	g.Expect(pod.Spec).To(Equal(m.pod.Spec), "nothing else differs")

	service := m.surroundings("by-hand")[1].(*corev1.Service)
	g.Expect(service.Spec.Selector).To(Equal(pod.Labels))
	g.Expect(service.Spec.ClusterIP).To(BeEmpty())
	set := m.newStatefulSet("set")
	g.Expect(set.Spec.Template.Labels).To(Equal(set.Spec.Selector.MatchLabels))
	g.Expect(set.Spec.Template.Spec).To(Equal(m.newPod("set").Spec))
}

func TestEachContenderHasAServiceOfItsName(t *testing.T) {
	g := NewWithT(t)
	for _, c := range comparisons(madeByADatabase()) {
		g.Expect(c.contenders[1].objects("x")).To(HaveLen(1), "a user applies one object")
		g.Expect(c.contenders[0].objects("x")).To(ContainElement(And(
			BeAssignableToTypeOf(&corev1.Service{}), HaveField("ObjectMeta.Name", "x"))))
	}
}

func TestThePasswordIsPartOfTheURI(t *testing.T) {
	m := madeByADatabase()
	NewWithT(t).Expect(uri("10.0.0.1:27017", &m.secret)).To(Equal("mongodb://root:a%20b%2Fc@10.0.0.1:27017/?authSource=admin&directConnection=true&serverSelectionTimeoutMS=1000"))
}

func TestTheTableHasMediansAndTheTarget(t *testing.T) {
	g := NewWithT(t)
	b := &bench{options: options{rounds: 3}, cluster: &cluster.Cluster{Version: "v1.37.1"}}
	all := comparisons(madeByADatabase())
	results := []result{
		{comparison: all[0], took: [2][]time.Duration{{2 * time.Second, time.Second, 4 * time.Second}, {3 * time.Second, 2 * time.Second, 5 * time.Second}}},
		{comparison: all[1], took: [2][]time.Duration{{2 * time.Second}, {2 * time.Second}}},
	}
	text := b.markdown(results, judge(results))
	g.Expect(text).To(ContainSubstring("| from apply to the first answered query | Pod and Service by hand: 2.00 s (4.00 s) | 3.00 s (5.00 s) | 1.50 | 1.00 s |"))
	g.Expect(text).To(ContainSubstring("| from the loss of the Pod to the next answered query | StatefulSet: 2.00 s (2.00 s) | 2.00 s (2.00 s) | 1.00 | 0.00 s |"))
	g.Expect(text).To(ContainSubstring("| from apply to the first answered query, longer | Database | 0.50 s | 1.00 s | **missed** |"))
	g.Expect(judge(results)).To(HaveLen(1), "only the first has a target")
	g.Expect(measure.Missed(io.Discard, judge(results))).To(Succeed(), "a time depends on the machine")
}
