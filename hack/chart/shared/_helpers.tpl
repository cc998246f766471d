{{/* The label helm.sh/chart; a "+" is not allowed in it. */}}
{{- define "NAME.chart" -}}
{{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The image of the operator. */}}
{{- define "NAME.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default (printf "v%s" $.Chart.AppVersion) }}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The port of a setting that is a port or an address, or else the default: (list . "WEBHOOK_PORT" 9443). */}}
{{- define "NAME.port" -}}
{{- $settings := (index . 0).Values.settings | default dict -}}
{{- $port := index $settings (index . 1) | default "" | toString | splitList ":" | last -}}
{{- if or (eq $port "") (eq $port "0") -}}
{{ index . 2 }}
{{- else -}}
{{ $port }}
{{- end -}}
{{- end }}
