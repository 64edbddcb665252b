/** Makes the viewer's buttons that show more context usable by keyboard and screen readers. */

/** Lines that one click shows. */
export const linesAtOnce = 20

/** For the viewer's shadow root. A label has the width of its side, and is cut with an ellipsis where that is too narrow. */
export const expanderStyles = `
  [data-deletions] [data-gutter] [data-separator='line-info'] [data-separator-wrapper] { width: 100cqi; }
  [data-separator-content] { min-width: 0; }
  [data-expand-index] [data-unmodified-lines]::after { content: ' · Expand all'; }
  [data-expand-index] [data-unmodified-lines] { cursor: pointer; }
  :host([data-shows-end]) [data-separator-last] { display: flex; align-items: center; background: none; }
  :host([data-shows-end]) [data-separator-last] > * { display: none; }
  :host([data-shows-end]) [data-content] > [data-separator-last]::after { content: 'End of file'; padding-inline: 1ch; color: var(--color-faint); font-size: var(--text-xs); }
  [data-expand-button]:focus-visible, [data-unmodified-lines]:focus-visible { outline: 2px solid var(--color-accent); outline-offset: -2px; }
`

const labels = {
  both: `Show ${linesAtOnce} more lines at both ends of the gap`,
  up: `Show ${linesAtOnce} more lines below the change above`,
  down: `Show ${linesAtOnce} more lines above the change below`,
}
const expander = '[data-expand-index] :is([data-unmodified-lines], [data-expand-button]:not([data-expand-all-button]))'

/** The focused button. When the viewer renders it again, the button at its place gets the focus back. */
let focused: { file: string; gap: string; which: string } | null = null
const known = new WeakSet<HTMLElement>()

/** Call it whenever the viewer rendered a file. */
export function makeExpandersReachable(host: HTMLElement, file: string): void {
  const root = host.shadowRoot
  if (root === null) return
  if (!known.has(host)) {
    known.add(host)
    host.addEventListener('keydown', pressByKey)
    host.addEventListener('click', expandAll, { capture: true })
    host.addEventListener('focusin', rememberFocus)
    host.addEventListener('pointermove', () => labelCommentButton(root))
  }
  // The viewer puts the button to the selected line of a new rendering, too, right after this.
  requestAnimationFrame(() => labelCommentButton(root))
  host.dataset.file = file
  const all = [...root.querySelectorAll<HTMLElement>(expander)]
  for (const each of all) {
    each.tabIndex = 0
    each.setAttribute('role', 'button')
    const which = whichOf(each)
    if (which !== 'all') each.setAttribute('aria-label', `${labels[which]}, ${file}`)
  }
  restoreFocus(all, file)
}

/** The viewer adds this button to the line under the pointer and to a selected one, without a label. */
function labelCommentButton(root: ShadowRoot): void {
  root.querySelector('[data-utility-button]')?.setAttribute('aria-label', 'Comment on this line')
}

/** Call it after a line was selected. */
export function labelCommentButtons(): void {
  for (const host of document.querySelectorAll<HTMLElement>('[data-file]'))
    if (host.shadowRoot !== null) labelCommentButton(host.shadowRoot)
}

function pressByKey(event: KeyboardEvent): void {
  const pressed = expanderOf(event)
  if (pressed === null || (event.key !== 'Enter' && event.key !== ' ')) return
  event.preventDefault()
  event.stopPropagation()
  pressed.click()
}

/** The viewer expands the whole gap on Shift+click. This does it for a click on the label. */
function expandAll(event: MouseEvent): void {
  const pressed = expanderOf(event)
  if (pressed === null || whichOf(pressed) !== 'all' || event.shiftKey) return
  event.stopPropagation()
  pressed.dispatchEvent(new MouseEvent('click', { bubbles: true, composed: true, shiftKey: true }))
}

function rememberFocus(event: FocusEvent): void {
  const target = expanderOf(event)
  const file = (event.currentTarget as HTMLElement).dataset.file ?? ''
  if (target !== null) focused = { file, gap: gapOf(target), which: whichOf(target) }
}

/** Focuses the same button, otherwise another one in the gap, otherwise the next, so that the focus stays near. */
function restoreFocus(all: HTMLElement[], file: string): void {
  if (focused === null || focused.file !== file || all.some((each) => each.matches(':focus'))) return
  const { gap, which } = focused
  const visible = all.filter((each) => each.checkVisibility())
  const same = visible.filter((each) => gapOf(each) === gap)
  const next =
    same.find((each) => whichOf(each) === which) ??
    same[0] ??
    visible.find((each) => Number(gapOf(each)) > Number(gap)) ??
    visible.at(-1)
  next?.focus({ preventScroll: true })
}

/** Any other key or click means that the user moved on, so the focus must not return. */
const forgetFocus = (event: Event) => {
  if (!(event instanceof KeyboardEvent && (event.key === 'Enter' || event.key === ' '))) focused = null
}
for (const going of ['pointerdown', 'keydown']) addEventListener(going, forgetFocus, { capture: true })

function expanderOf(event: Event): HTMLElement | null {
  const target = event.composedPath()[0]
  return target instanceof HTMLElement && target.matches(expander) ? target : null
}

function gapOf(each: HTMLElement): string {
  return each.closest('[data-expand-index]')?.getAttribute('data-expand-index') ?? ''
}

function whichOf(each: HTMLElement): 'all' | keyof typeof labels {
  if (each.hasAttribute('data-unmodified-lines')) return 'all'
  if (each.hasAttribute('data-expand-both')) return 'both'
  return each.hasAttribute('data-expand-up') ? 'up' : 'down'
}
