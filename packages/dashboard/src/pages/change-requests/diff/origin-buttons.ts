/** Adds a button to each gap before a hunk of the viewer, which shows how the hunk was written. */

const label = 'How was this written?'

/** For the viewer's shadow root. */
export const originStyles = `
  [data-origin] { flex: none; margin-inline-start: auto; padding-inline: 8px; border: 0; background: none; color: inherit; font: inherit; cursor: pointer; }
  [data-origin]:hover { color: var(--color-accent); text-decoration: underline; }
  [data-origin]:focus-visible { outline: 2px solid var(--color-accent); outline-offset: -2px; }
`

const asked = new WeakMap<HTMLElement, (hunk: number) => void>()

/** Call it whenever the viewer rendered a file. `hunks` is their number: a gap after the last one belongs to none. */
export function addOriginButtons(
  host: HTMLElement,
  { hunks, onAsk }: { hunks: number; onAsk: (hunk: number) => void },
) {
  const root = host.shadowRoot
  if (root === null) return
  if (!asked.has(host)) host.addEventListener('click', press, { capture: true })
  asked.set(host, onAsk)
  for (const gap of root.querySelectorAll<HTMLElement>('[data-gutter] [data-expand-index] [data-separator-content]')) {
    const hunk = Number(gap.closest('[data-expand-index]')?.getAttribute('data-expand-index'))
    // A split view shows each gap on its left side alone.
    if (hunk >= hunks || gap.closest('[data-additions]') !== null || gap.querySelector('[data-origin]') !== null)
      continue
    const button = document.createElement('button')
    button.type = 'button'
    button.dataset.origin = String(hunk)
    button.textContent = label
    gap.append(button)
  }
}

export function focusOriginButton(path: string, hunk: number): void {
  const host = [...document.querySelectorAll<HTMLElement>('[data-file]')].find(({ dataset }) => dataset.file === path)
  const button = host?.shadowRoot?.querySelector<HTMLElement>(`[data-origin='${hunk}']`)
  button?.focus({ preventScroll: true })
}

function press(event: MouseEvent): void {
  const target = event.composedPath()[0]
  const hunk = target instanceof HTMLElement ? target.dataset.origin : undefined
  if (hunk === undefined) return
  event.stopPropagation()
  ;(target as HTMLElement).focus()
  asked.get(event.currentTarget as HTMLElement)?.(Number(hunk))
}
