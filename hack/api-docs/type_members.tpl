{{- define "type_members" -}}
{{- if eq .Name "metadata" -}}
Standard object metadata.
{{- else -}}
{{ template "sentences" .Doc }}
{{- end -}}
{{- end -}}
