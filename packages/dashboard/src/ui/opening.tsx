/** The fallback of a dialog whose code is loading: no key acts on the page behind it. */
export function Opening() {
  return <span hidden data-opening />
}
