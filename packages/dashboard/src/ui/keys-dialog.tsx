import { Dialog } from '@base-ui/react/dialog'
import { buttonClass } from './form.tsx'
import { Kbd } from './kbd.tsx'
import type { KeyName } from './use-shortcuts.ts'

/** Lists the shortcuts of a page. */
export function KeysDialog({
  keys,
  open,
  onOpenChange,
}: {
  keys: readonly KeyName[]
  open: boolean
  onOpenChange: (open: boolean) => void
}) {
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/50" />
        <Dialog.Popup className="fixed top-1/2 left-1/2 z-50 w-80 max-w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 rounded-lg border border-edge bg-raised p-5 shadow-float outline-none">
          <Dialog.Title className="mb-3 font-semibold">Keyboard shortcuts</Dialog.Title>
          <dl className="grid grid-cols-[5.5rem_1fr] gap-y-2 text-sm">
            {keys.map(([key, what]) => (
              <div key={key} className="contents">
                <dt>
                  <Kbd>{key}</Kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
          <Dialog.Close className={`mt-4 ${buttonClass()}`}>Close</Dialog.Close>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
