{{- /* The environment of a server. */ -}}
{{- define "svc.env" -}}
{{- include "svc.refuse" . -}}
- name: SVC_SERVER_NAME
  valueFrom:
    fieldRef: { fieldPath: metadata.name }
- name: SVC_PEER_URL
  value: https://$(SVC_SERVER_NAME).{{ include "svc.name" . }}-peers.{{ .Release.Namespace }}.svc:8421
- name: DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ required "database.existingSecret is required: the Secret with the URL of PostgreSQL." .Values.database.existingSecret }}
      key: {{ .Values.database.key }}
{{- with .Values.bootstrapToken.existingSecret }}
- name: SVC_BOOTSTRAP_TOKEN
  valueFrom:
    secretKeyRef: { name: {{ . }}, key: {{ $.Values.bootstrapToken.key }} }
{{- end }}
{{- $sandboxes := .Values.sandboxes }}
{{- $labels := list }}
{{- range $label, $value := $sandboxes.nodeSelector }}{{ $labels = append $labels (printf "%s=%s" $label $value) }}{{ end }}
{{- $settings := dict
  "HOME" "/var/lib/svc/home"
  "SVC_DATA_DIR" "/var/lib/svc/data"
  "SVC_MASTER_KEY_FILE" "/etc/svc/master.key"
  "SVC_HOST" "0.0.0.0"
  "SVC_PORT" "8420"
  "SVC_LOG" "json"
  "SVC_PUBLIC_URL" (required "publicUrl is required: the address that users open." .Values.publicUrl)
  "SVC_PREVIEW_DOMAIN" (required "previewDomain is required: the domain of previews and apps." .Values.previewDomain)
  "SVC_TRUSTED_PROXIES" (join "," .Values.trustedProxies)
  "SVC_SANDBOX_DRIVER" "kubernetes"
  "SVC_SANDBOX_CPU_MAX" $sandboxes.cpuMax
  "SVC_SANDBOX_MEMORY_MAX" $sandboxes.memoryMax
  "SVC_SANDBOX_DISK_MAX" $sandboxes.diskMax
  "SVC_SANDBOX_LEASE_SECONDS" ($sandboxes.leaseSeconds | int)
  "SVC_KUBERNETES_NAMESPACE" $sandboxes.namespace
  "SVC_KUBERNETES_IMAGE" ($sandboxes.image | default (include "svc.image" .))
  "SVC_KUBERNETES_PULL_SECRETS" (join "," $sandboxes.imagePullSecrets)
  "SVC_KUBERNETES_RUNTIME_CLASS" $sandboxes.runtimeClass
  "SVC_KUBERNETES_NODE_SELECTOR" (join "," $labels)
  "SVC_KUBERNETES_WORKSPACE_STORAGE_CLASS" $sandboxes.workspaceStorageClass
}}
{{- /* No merge, which takes 0 for a value that is missing. */ -}}
{{- range $name, $value := .Values.settings }}{{ $_ := set $settings $name $value }}{{ end }}
{{- range $name, $_ := .Values.secretSettings }}{{ $_ := unset $settings $name }}{{ end }}
{{- range $name, $_ := .Values.fileSettings }}{{ $_ := set $settings $name (printf "/etc/svc-files/%s" $name) }}{{ end }}
{{- range $name, $value := $settings }}
{{- /* As JSON, a large number has no exponent. */ -}}
{{- $text := kindIs "string" $value | ternary $value (toJson $value) }}
{{- if ne $text "" }}
- name: {{ $name }}
  value: {{ $text | quote }}
{{- end }}
{{- end }}
{{- range $name, $from := .Values.secretSettings }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef: { name: {{ $from.secret }}, key: {{ $from.key }} }
{{- end }}
{{- end }}
