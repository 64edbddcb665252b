import { type RefObject, useLayoutEffect } from 'react'

/** A program that moves the focus back as often is one that wants what a person types. */
const takenMax = 3

/**
 * A program in a frame can move the focus into itself, and would get what a person types into a field of the page. So
 * while a field has the focus, it gets it back, until the person points at the frame. The frame is inert meanwhile, so
 * that the area around it notices the pointer. `onTaken` has to remove a frame that does not stop.
 */
export function useShield(
  frame: RefObject<HTMLIFrameElement | null>,
  area: RefObject<HTMLElement | null>,
  onTaken: () => void,
) {
  // A layout effect ends before the frame is removed.
  useLayoutEffect(() => {
    const shielded = frame.current
    const around = area.current
    if (shielded === null || around === null) return undefined
    let isPointedAt = false
    /** The field that the person went to. */
    let field: HTMLElement | null = null
    let taken = 0
    const update = () => {
      const active = document.activeElement
      if (isField(active)) field = active
      else if (active === shielded && field !== null && !isPointedAt) {
        taken++
        if (taken > takenMax) onTaken()
        field.focus({ preventScroll: true })
      } else field = null
      shielded.inert = field !== null && !isPointedAt
    }
    const enterField = ({ target }: Event) => {
      if (isField(target)) isPointedAt = false
      update()
    }
    // The new focus is known only after the event.
    const leave = () => void setTimeout(update)
    const pointAt = ({ movementX, movementY }: PointerEvent) => {
      // Without a movement, it is the page that moved below the pointer.
      if (movementX === 0 && movementY === 0) return
      isPointedAt = true
      taken = 0
      update()
    }
    const press = () => {
      if (isField(document.activeElement)) document.activeElement.blur()
    }
    const ended = new AbortController()
    const { signal } = ended
    document.addEventListener('focusin', enterField, { signal })
    document.addEventListener('keydown', enterField, { signal, capture: true })
    document.addEventListener('focusout', leave, { signal })
    window.addEventListener('blur', leave, { signal })
    around.addEventListener('pointermove', pointAt, { signal })
    around.addEventListener('pointerdown', press, { signal })
    update()
    return () => {
      ended.abort()
      // With the frame, the focus would go to the page, whose shortcuts would take what the person types.
      if (document.activeElement === shielded) field?.focus({ preventScroll: true })
    }
  }, [frame, area, onTaken])
}

function isField(target: EventTarget | null): target is HTMLElement {
  return target instanceof HTMLElement && (target.matches('input, textarea') || target.isContentEditable)
}
