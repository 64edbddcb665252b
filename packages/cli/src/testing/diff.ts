import { ids, sha } from './ids.ts'

export const cleanPreview = {
  base_sha: sha('b'),
  head_sha: sha('a'),
  merge_base: sha('b'),
  is_up_to_date: false,
  can_merge: true,
  can_fast_forward: true,
  conflicts: [] as string[],
}

export const aPatch = `diff --git a/page.html b/page.html
index 111..222 100644
--- a/page.html
+++ b/page.html
@@ -1,2 +1,2 @@
 <body>
--- old
+++ new
`

export const aDiff = (patch = aPatch) => ({
  cr_id: ids.cr,
  base_ref: 'main',
  head_ref: 'greeting',
  base_sha: sha('b'),
  head_sha: sha('a'),
  merge_base: sha('b'),
  files: [{ path: 'page.html', old_path: null, status: 'modified', additions: 1, deletions: 1, binary: false }],
  files_changed: 1,
  additions: 1,
  deletions: 1,
  patch,
  truncated: false,
})

/** A preview whose merge has one effect, to be confirmed. */
export function previewToConfirm(words: string) {
  const none = { triggers: [], apps: [], skills: [], agents: [], connectors: [], channels: [], checks: [] }
  const secrets = { settings: [], secrets_added: [], secrets_missing: [], manifest_issues: [], words: [] }
  const detail = { kind: 'connector', name: 'pay', change: 'added', fields: [], next_fire_at: [], confirm: [words] }
  return { ...cleanPreview, effects: { applies: true, ...none, ...secrets, details: [detail] } }
}
