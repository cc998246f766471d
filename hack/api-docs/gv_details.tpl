{{- define "gvDetails" -}}
{{- $gv := . -}}
## {{ .GroupVersionString }}

{{ trim .Doc }}

Kinds:
{{ range .SortedKinds }}
* {{ template "link" ($gv.TypeForKind .) }}
{{- end }}
{{ range .SortedTypes }}{{ template "type" . }}{{ end }}
{{- end -}}
