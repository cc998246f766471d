package decide

import (
	"cmp"
	"encoding/json"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
)

// defaultReplicas is how many Pods a responder has if no page says more.
const defaultReplicas = 2

// pages are the pages that the slices ask for, by Service. A slice for each IP
// family says the same; while one of them is behind, the first by name holds. A
// page that is not valid, because a user edited the slice, stays as it was until the
// slice is fixed. Services with the same page share it.
func (s *Snapshot) pages(recorded *listener.Table) map[string]*criticalv2.PageFallback {
	pages, parsed := map[string]*criticalv2.PageFallback{}, map[string]*criticalv2.PageFallback{}
	for _, slice := range s.sortedSlices() {
		service, text := slice.Labels[discoveryv1.LabelServiceName], slice.Annotations[criticalv2.AnnotationPage]
		if pages[service] != nil {
			continue
		}
		page, known := parsed[text]
		if !known {
			page = parsePage(text)
			parsed[text] = page
		}
		pages[service] = page
	}
	for i := range recorded.Listeners {
		if page, asked := pages[recorded.Listeners[i].Service]; asked && page == nil {
			pages[recorded.Listeners[i].Service] = recorded.Listeners[i].Page
		}
	}
	for service, page := range pages {
		if page == nil {
			pages[service] = criticalv2.DefaultPage()
		}
	}
	return pages
}

// parsePage is a page as a slice has it; nil if it is not valid.
func parsePage(text string) *criticalv2.PageFallback {
	page := &criticalv2.PageFallback{}
	if json.Unmarshal([]byte(text), page) != nil || listener.CheckPage(page) != nil {
		return nil
	}
	return page
}

// announcements are the maintenances that the slices announce, by Service. One that
// is not valid, because a user edited the slice, is skipped until it is fixed.
func (s *Snapshot) announcements() map[string]*criticalv2.Announcement {
	announcements := map[string]*criticalv2.Announcement{}
	for _, slice := range s.sortedSlices() {
		service, text := slice.Labels[discoveryv1.LabelServiceName], slice.Annotations[criticalv2.AnnotationMaintenance]
		if text == "" || announcements[service] != nil {
			continue
		}
		announced := &criticalv2.Announcement{}
		if json.Unmarshal([]byte(text), announced) == nil && listener.CheckAnnouncement(announced) == nil {
			announcements[service] = announced
		}
	}
	return announcements
}

func (s *Snapshot) sortedSlices() []*discoveryv1.EndpointSlice {
	sorted := make([]*discoveryv1.EndpointSlice, 0, len(s.Slices))
	for i := range s.Slices {
		sorted = append(sorted, &s.Slices[i])
	}
	slices.SortFunc(sorted, func(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(a.Name, b.Name) })
	return sorted
}

// replicas is the greatest number among the pages.
func replicas(pages map[string]*criticalv2.PageFallback) int32 {
	most := int32(0)
	for _, page := range pages {
		if page.Replicas == nil {
			most = max(most, defaultReplicas)
		} else {
			most = max(most, *page.Replicas)
		}
	}
	return max(most, 1)
}

// contents are the ConfigMaps that a page names and whose owners agree that they
// are published, sorted by name.
func (s *Snapshot) contents(pages map[string]*criticalv2.PageFallback) []*metav1.PartialObjectMetadata {
	named := map[string]bool{}
	for _, page := range pages {
		named[page.ConfigMapName] = true
	}
	var contents []*metav1.PartialObjectMetadata
	for i := range s.Contents {
		content := &s.Contents[i]
		if named[content.Name] && content.Labels[criticalv2.LabelResponder] == criticalv2.ResponderContent {
			contents = append(contents, content)
		}
	}
	slices.SortFunc(contents, func(a, b *metav1.PartialObjectMetadata) int { return cmp.Compare(a.Name, b.Name) })
	return contents
}

func names(configMaps []*metav1.PartialObjectMetadata) []string {
	var names []string
	for _, configMap := range configMaps {
		names = append(names, configMap.Name)
	}
	return names
}
