/**
 * Puts the keyboard focus on the heading of a page that a navigation opened, and on what is nearest when the element with
 * the focus leaves the page. Browsers leave it on the body, from where Tab begins at the top.
 */
import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'

/** Where the focus was. */
interface Trail {
  /** The element, and what it is in. */
  path: Element[]
  /** The list it is in, and at which row. */
  list: Element | null
  row: number
}

export function usePageFocus(): void {
  const router = useRouter()
  useEffect(() => {
    let isArriving = false
    let last: Element | null = null
    let trail: Trail | null = null
    let frame = 0
    const isLost = () => document.activeElement === document.body && last?.isConnected === false
    const place = () => {
      const active = document.activeElement
      if (isArriving) isArriving = !(isInPage(active) || (!isCovering(active) && focus(heading())))
      else if (trail !== null && isLost()) focus(nearest(trail))
    }
    // A menu or a dialog that closes returns the focus by itself, right after it is gone.
    const placeSoon = () => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(() => setTimeout(place))
    }
    const changed = new MutationObserver(() => (isArriving || isLost()) && placeSoon())
    changed.observe(document.body, { childList: true, subtree: true })
    const stopListening = router.subscribe('onRendered', ({ fromLocation, pathChanged }) => {
      if (fromLocation === undefined || !pathChanged) return
      isArriving = true
      placeSoon()
    })
    const focused = ({ target }: FocusEvent) => {
      if (!(target instanceof Element)) return
      last = target
      // A choice in a menu or a dialog may remove the row of its button.
      if (!isCovering(target)) trail = trailOf(target)
    }
    // The user goes on by themselves.
    const acted = () => {
      isArriving = false
    }
    addEventListener('focusin', focused)
    addEventListener('keydown', acted, true)
    addEventListener('pointerdown', acted, true)
    return () => {
      cancelAnimationFrame(frame)
      changed.disconnect()
      stopListening()
      removeEventListener('focusin', focused)
      removeEventListener('keydown', acted, true)
      removeEventListener('pointerdown', acted, true)
    }
  }, [router])
}

const heading = () => document.querySelector<HTMLElement>('main h1')

/** In the page itself, which then has put it there. The bar stays from page to page. */
const isInPage = (element: Element | null) =>
  element?.parentElement?.closest('main') != null && element.closest('[data-bar], [role=menu]') === null

/** It still is to close. */
const isCovering = (element: Element | null) =>
  element?.closest('[role=dialog], [role=alertdialog], [role=menu]') != null

function trailOf(target: Element): Trail {
  const path: Element[] = []
  for (let each: Element | null = target; each !== null; each = each.parentElement) path.push(each)
  const item = target.closest('li')
  const list = item?.parentElement ?? null
  // A virtual list has a part of its rows in the document.
  return { path, list, row: Number(item?.dataset.index ?? [...(list?.children ?? [])].indexOf(item!)) }
}

/** The row that took the place of the removed one, what the part of the page has for it, or the heading. */
function nearest({ path, list, row }: Trail): HTMLElement | null {
  if (path[0]?.isConnected === true) return path[0] as HTMLElement
  const main = path.findIndex(({ id }) => id === 'main')
  for (const left of path.slice(0, Math.max(main, 0)).filter(({ isConnected }) => isConnected)) {
    if (left === list) return rowOf(list, row)?.querySelector('a, button, input') ?? heading()
    const next = left.querySelector<HTMLElement>('[data-next-focus]')
    // On a phone it would open the keyboard.
    if (next !== null && !matchMedia('(pointer:coarse)').matches) return next
    if (left.hasAttribute('tabindex')) return left as HTMLElement
  }
  return heading()
}

const rowOf = (list: Element, row: number) =>
  list.querySelector(`:scope > [data-index="${row}"]`) ?? list.children[row] ?? list.lastElementChild

function focus(element: HTMLElement | null): boolean {
  if (element === null) return false
  if (element.tabIndex < 0 && !element.hasAttribute('tabindex')) {
    element.tabIndex = -1
    element.style.outline = 'none'
  }
  element.focus({ preventScroll: true })
  return true
}
