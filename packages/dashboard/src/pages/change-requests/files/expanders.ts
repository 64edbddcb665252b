/** What shows more lines around a change, for keyboards and screen readers: the viewer draws it for a pointer alone. */

/** Lines that one press shows. */
export const linesAtOnce = 20

/** Goes into the viewer's shadow root. */
export const expanderStyles = `
  [data-expand-index] [data-unmodified-lines]::after { content: ' · Expand all'; }
  [data-expand-index] [data-unmodified-lines] { cursor: pointer; }
  [data-expand-button]:focus-visible, [data-unmodified-lines]:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
`

const labels = {
  both: `Show ${linesAtOnce} more lines at both ends of the gap`,
  up: `Show ${linesAtOnce} more lines below the change above`,
  down: `Show ${linesAtOnce} more lines above the change below`,
}
const expander = '[data-expand-index] :is([data-unmodified-lines], [data-expand-button]:not([data-expand-all-button]))'

/** What has the focus: when it is drawn again, by a press or because colours came, its place takes the focus back. */
let held: { file: string; gap: string; which: string } | null = null
const known = new WeakSet<HTMLElement>()

/** To be called whenever a file was drawn. */
export function makeExpandersReachable(host: HTMLElement, file: string): void {
  const root = host.shadowRoot
  if (root === null) return
  if (!known.has(host)) {
    known.add(host)
    host.addEventListener('keydown', pressByKey)
    host.addEventListener('click', expandAll, { capture: true })
    host.addEventListener('focusin', hold)
    // It comes with the pointer, without a name.
    host.addEventListener('pointermove', () =>
      root.querySelector('[data-utility-button]')?.setAttribute('aria-label', 'Comment on this line'),
    )
  }
  host.dataset.file = file
  const all = [...root.querySelectorAll<HTMLElement>(expander)]
  for (const each of all) {
    each.tabIndex = 0
    each.setAttribute('role', 'button')
    const which = whichOf(each)
    if (which !== 'all') each.setAttribute('aria-label', `${labels[which]}, ${file}`)
  }
  giveBackFocus(all, file)
}

function pressByKey(event: KeyboardEvent): void {
  const pressed = expanderOf(event)
  if (pressed === null || (event.key !== 'Enter' && event.key !== ' ')) return
  event.preventDefault()
  event.stopPropagation()
  pressed.click()
}

/** The viewer shows all of a gap when Shift is held; here its words do. */
function expandAll(event: MouseEvent): void {
  const pressed = expanderOf(event)
  if (pressed === null || whichOf(pressed) !== 'all' || event.shiftKey) return
  event.stopPropagation()
  pressed.dispatchEvent(new MouseEvent('click', { bubbles: true, composed: true, shiftKey: true }))
}

function hold(event: FocusEvent): void {
  const focused = expanderOf(event)
  const file = (event.currentTarget as HTMLElement).dataset.file ?? ''
  if (focused !== null) held = { file, gap: gapOf(focused), which: whichOf(focused) }
}

/** The same one, else another of the same gap, else the next: nobody starts again at the top of the page. */
function giveBackFocus(all: HTMLElement[], file: string): void {
  if (held === null || held.file !== file || all.some((each) => each.matches(':focus'))) return
  const { gap, which } = held
  const visible = all.filter((each) => each.checkVisibility())
  const same = visible.filter((each) => gapOf(each) === gap)
  const next =
    same.find((each) => whichOf(each) === which) ??
    same[0] ??
    visible.find((each) => Number(gapOf(each)) > Number(gap)) ??
    visible.at(-1)
  next?.focus({ preventScroll: true })
}

/** Somebody went on: drawing again must not take them back. */
const goOn = (event: Event) => {
  if (!(event instanceof KeyboardEvent && (event.key === 'Enter' || event.key === ' '))) held = null
}
for (const going of ['pointerdown', 'keydown']) addEventListener(going, goOn, { capture: true })

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
