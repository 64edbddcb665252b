import { Dialog } from '@base-ui/react/dialog'
import { useEffect } from 'react'
import { isTyped } from '../../../ui/keys.ts'
import { Kbd } from '../../../ui/kbd.tsx'

const keys: [string, string][] = [
  ['j', 'Next file'],
  ['k', 'Previous file'],
  ['n', 'Next unviewed file'],
  ['v', 'Mark as viewed or not viewed'],
  ['↓', 'Next line of the file'],
  ['↑', 'Previous line of the file'],
  ['c', 'Comment on that line, or on the first changed one'],
  ['s', 'Switch between split and unified'],
  ['w', 'Show or hide whitespace changes'],
  ['?', 'Show keyboard shortcuts'],
]

/** Single-key shortcuts, except while the user types. */
export function useShortcuts(actions: Record<string, () => void>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTyped(event) || event.ctrlKey || event.metaKey || event.altKey) return
      const action = actions[event.key]
      if (action === undefined) return
      event.preventDefault()
      action()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [actions])
}

export function ShortcutsDialog({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/50" />
        <Dialog.Popup className="fixed top-1/2 left-1/2 z-50 w-80 max-w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 rounded-lg border border-line bg-ground p-5 outline-none">
          <Dialog.Title className="mb-3 font-semibold">Keyboard shortcuts</Dialog.Title>
          <dl className="grid grid-cols-[3rem_1fr] gap-y-2 text-sm">
            {keys.map(([key, what]) => (
              <div key={key} className="contents">
                <dt>
                  <Kbd>{key}</Kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
          <Dialog.Close className="mt-4 min-h-9 rounded-md border border-line-strong px-3 text-sm">Close</Dialog.Close>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
