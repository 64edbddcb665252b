/** A key that the user types into a field, and that is no shortcut. */
export function isTyped(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0]
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

/** A menu or a dialog is open or opening, so the keys are not the page's. A dialog beside the page says `aria-modal=false`. */
export function isCovered(): boolean {
  const covers = '[role=menu], [role=dialog]:not([aria-modal=false]), [role=alertdialog], [data-opening]'
  return document.querySelector(covers) !== null
}
