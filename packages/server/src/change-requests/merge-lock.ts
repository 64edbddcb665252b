/** Merges into one base take turns under this key, in every server on the database. */
export function mergeLock(base: { project_id: string; base_ref: string }): string {
  return `merge ${base.project_id} ${base.base_ref}`
}
