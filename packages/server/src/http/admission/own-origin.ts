/** Compares origins as browsers do: scheme, host and port. */

/**
 * Whether `origin` is the page that this request's `host` serves. A proxy ends TLS in front of the server, so the
 * public URL decides the scheme of its own name. Every other name leads straight to the listener, which speaks plain
 * HTTP.
 */
export function isOriginOf(publicUrl: string, origin: string, host: string): boolean {
  const known = new URL(publicUrl)
  const name = URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : null
  return isOrigin(origin, name === known.hostname ? known.protocol : 'http:', host)
}

export function isOrigin(origin: string, protocol: string, host: string): boolean {
  const own = `${protocol}//${host}`
  return URL.canParse(origin) && URL.canParse(own) && new URL(origin).origin === new URL(own).origin
}
