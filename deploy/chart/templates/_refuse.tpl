{{- /* The name that shares most groups of three letters with a mistyped word, for its length. Empty: none is like it. */ -}}
{{- define "svc.closest" -}}
{{- $word := upper .word }}
{{- $best := "" }}
{{- $most := 39 }}
{{- range $name := .names }}
{{- $same := 0 }}
{{- range $at := until (sub (len $word) 2 | max 0 | int) }}
{{- if contains (substr $at (add $at 3 | int) $word) $name }}{{ $same = add1 $same }}{{ end }}
{{- end }}
{{- $likeness := div (mul 100 $same) (max (len $word) (len $name)) }}
{{- if gt $likeness $most }}{{ $most = $likeness }}{{ $best = $name }}{{ end }}
{{- end }}
{{- $best }}
{{- end }}
{{- /* Refuses settings that would contradict the chart. Without a value to use instead, the chart has to set them. */ -}}
{{- define "svc.refuse" -}}
{{- $instead := dict
  "DATABASE_URL" "database.existingSecret"
  "SVC_BOOTSTRAP_TOKEN" "bootstrapToken.existingSecret"
  "SVC_DATA_DIR" ""
  "SVC_HOST" ""
  "SVC_KUBERNETES_IMAGE" "sandboxes.image"
  "SVC_KUBERNETES_NAMESPACE" "sandboxes.namespace"
  "SVC_KUBERNETES_NODE_SELECTOR" "sandboxes.nodeSelector"
  "SVC_KUBERNETES_PULL_SECRETS" "sandboxes.imagePullSecrets"
  "SVC_KUBERNETES_RUNTIME_CLASS" "sandboxes.runtimeClass"
  "SVC_KUBERNETES_WORKSPACE_STORAGE_CLASS" "sandboxes.workspaceStorageClass"
  "SVC_MASTER_KEY_FILE" "masterKey.existingSecret"
  "SVC_PEER_LISTEN" ""
  "SVC_PEER_URL" ""
  "SVC_PORT" "service.port"
  "SVC_PREVIEW_DOMAIN" "previewDomain"
  "SVC_PUBLIC_URL" "publicUrl"
  "SVC_SANDBOX_CPU_MAX" "sandboxes.cpuMax"
  "SVC_SANDBOX_DISK_MAX" "sandboxes.diskMax"
  "SVC_SANDBOX_DRIVER" ""
  "SVC_SANDBOX_LEASE_SECONDS" "sandboxes.leaseSeconds"
  "SVC_SANDBOX_MEMORY_MAX" "sandboxes.memoryMax"
  "SVC_SERVER_NAME" ""
  "SVC_TRUSTED_PROXIES" "trustedProxies"
}}
{{- $groups := dict }}
{{- range $group := list "settings" "secretSettings" "fileSettings" }}
{{- range $name, $value := get $.Values $group }}
{{- if not (has $name ($.Files.Lines "settings.txt")) }}
{{- $meant := include "svc.closest" (dict "word" $name "names" ($.Files.Lines "settings.txt")) }}
{{- fail (printf "%s.%s: the server has no such setting. %s" $group $name (ternary "docs/operate/server.md lists them." (printf "Did you mean %s?" $meant) (eq $meant ""))) }}
{{- end }}
{{- if hasKey $instead $name }}
{{- $value := get $instead $name }}
{{- fail (printf "%s.%s: the chart sets it%s." $group $name (ternary ", and no value changes it" (printf ". Use %s instead" $value) (eq $value ""))) }}
{{- end }}
{{- if and (eq $group "settings") (eq $name "SVC_BACKUP_DIR") (not (regexMatch "^(s3://.*|/var/lib/svc/.+)?$" (toString $value))) }}
{{- fail (printf "settings.SVC_BACKUP_DIR: the servers have no volume at %s. Use a bucket: s3://bucket/prefix/$(SVC_SERVER_NAME)." $value) }}
{{- end }}
{{- with get $groups $name }}
{{- fail (printf "%s is in %s and in %s: keep one of them." $name . $group) }}
{{- end }}
{{- $_ := set $groups $name $group }}
{{- end }}
{{- end }}
{{- end }}
