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

{{/*
How many replicas must stay, or may be evicted. A budget that allows no eviction would stop every drain: Kubernetes
rounds a share up.
*/}}
{{- define "NAME.budget" -}}
{{- $replicas := int .Values.replicas -}}
{{- with .Values.podDisruptionBudget -}}
{{- if .minAvailable -}}
{{- $share := toString .minAvailable -}}
{{- $kept := hasSuffix "%" $share | ternary (div (mul (trimSuffix "%" $share) $replicas | add 99) 100) (int64 $share) -}}
{{- if and (gt $replicas 0) (ge $kept (int64 $replicas)) -}}
{{- printf "podDisruptionBudget.minAvailable is %s of %d replicas, so that none could be evicted and every drain would stop: lower it, or raise replicas" $share $replicas | fail -}}
{{- end -}}
minAvailable: {{ .minAvailable }}
{{- else -}}
maxUnavailable: {{ .maxUnavailable | default 1 }}
{{- end -}}
{{- end -}}
{{- end }}
