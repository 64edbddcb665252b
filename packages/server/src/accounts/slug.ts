/** A readable name for an account, never stored. The start of the id distinguishes accounts of the same name. */
export function accountSlug({ account_id, name }: { account_id: string; name: string }): string {
  const words = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 50)
    .replace(/^-|-$/g, '')
  return `${words === '' ? 'account' : words}-${account_id.slice(0, 8)}`
}
