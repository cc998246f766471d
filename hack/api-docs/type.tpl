{{- /* Both versions have types of the same name: the version is part of headings and links. */ -}}
{{- define "link" -}}
{{- $package := .Package -}}
{{- if not $package }}{{ with .UnderlyingType }}{{ $package = .Package }}{{ end }}{{ end -}}
{{- /* What another module has is on the page of that. */ -}}
{{- $page := "" }}{{ if and (markdownTemplateValue "project") (hasPrefix "github.com/critical-service/operator/api/" $package) }}{{ $page = "api.md" }}{{ end -}}
{{- $link := markdownRenderType . | replace "](#" (printf "](%s#%s-" $page (base $package)) -}}
{{ regexReplaceAll "\\[([^]]+)\\]\\(https://kubernetes[^)]*\\)" $link "${1}" }}
{{- end -}}

{{- define "sentences" -}}
{{ . | trim | replace "\n\n" "\r" | replace "\n" " " | replace "\r" "\n" | markdownRenderFieldDoc }}
{{- end -}}

{{- define "rules" -}}
{{- range $index, $rule := . }}{{ if not (or (contains "XValidation" $rule) (eq "Type:" (trim $rule))) }}{{ if $index }}; {{ end }}{{ $rule | replace ": {}" "" | markdownRenderFieldDoc }}{{ end }}{{ end -}}
{{- end -}}

{{- define "type" -}}
{{- if markdownShouldRenderType . }}
### {{ base .Package }} {{ .Name }}

{{ trim .Doc }}
{{- if .IsAlias }}

Type: {{ template "link" .UnderlyingType }}
{{- end }}
{{- with .Validation }}

Validation: {{ template "rules" . }}
{{- end }}
{{- with .SortedReferences }}

Appears in:{{ range $index, $reference := . }}{{ if $index }},{{ end }} {{ base $reference.Package }} {{ template "link" $reference }}{{ end }}
{{- end }}
{{- if .Members }}

| Field | Type | Description | Default | Validation |
|---|---|---|---|---|
{{- if .GVK }}
| `apiVersion` | string | `{{ .GVK.Group }}/{{ .GVK.Version }}` | | |
| `kind` | string | `{{ .GVK.Kind }}` | | |
{{- end }}
{{- range .Members }}
| `{{ .Name }}` | {{ template "link" .Type }} | {{ template "type_members" . }} | {{ with .Default }}`{{ replace "map[]" "{}" . }}`{{ end }} | {{ template "rules" .Validation }} |
{{- end }}
{{- end }}
{{- with .EnumValues }}

| Value | Description |
|---|---|
{{- range . }}
| `{{ .Name }}` | {{ template "sentences" .Doc }} |
{{- end }}
{{- end }}
{{ end -}}
{{- end -}}
