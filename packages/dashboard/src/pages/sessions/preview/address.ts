/** Places inside a preview. Whatever a person types, it stays below the origin of the preview. */

/** A path with query and fragment, from a path or from a whole URL. */
export function pathIn(typed: string): string {
  const text = typed.trim()
  if (!/^https?:\/\//i.test(text)) return `/${text.replace(/^[/\\]+/, '')}`
  if (!URL.canParse(text)) return '/'
  const { pathname, search, hash } = new URL(text)
  return pathname + search + hash
}

/** The URL that signs the browser in, at that path. */
export function urlAt(signIn: string, path: string): string {
  const { origin, search: ticket } = new URL(signIn)
  const { pathname, search, hash } = new URL(pathIn(path), origin)
  return `${origin}${pathname}${search === '' ? ticket : `${search}&${ticket.slice(1)}`}${hash}`
}
