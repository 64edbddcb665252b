/** Lets the keyboard reach the lines that are wider than the screen, so that the arrow keys scroll them. */

/** For the viewer's shadow root. */
export const scrollableStyles = `
  [data-code]:focus-visible { outline: 2px solid var(--color-accent); outline-offset: -2px; }
`

/** It also notices a narrower window. Its first notice comes at once, after the layout of the frame. */
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.isConnected) makeReachable(target as HTMLElement)
    else sizes.unobserve(target)
  }
})

/** Call it whenever the viewer rendered a file. */
export function makeScrollableReachable(host: HTMLElement): void {
  for (const code of host.shadowRoot?.querySelectorAll<HTMLElement>('[data-code]') ?? []) {
    // Once more, as the lines can be wider ones in an element of the same size.
    sizes.unobserve(code)
    sizes.observe(code)
  }
}

function makeReachable(code: HTMLElement): void {
  if (code.scrollWidth > code.clientWidth) code.tabIndex = 0
  else code.removeAttribute('tabindex')
}
