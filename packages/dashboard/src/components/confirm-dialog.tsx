import { AlertDialog } from '@base-ui/react/alert-dialog'
import type { ReactNode } from 'react'
import { Button, buttonClass, type ButtonKind } from '../ui/form.tsx'

export function ConfirmDialog({
  open,
  onOpenChange,
  title,
  verb,
  verbKind = 'danger',
  busy,
  onConfirm,
  children,
}: {
  open: boolean
  onOpenChange: (open: boolean) => void
  title: string
  verb: string
  /** For what stops or deletes nothing. */
  verbKind?: ButtonKind
  busy: boolean
  onConfirm: () => void
  children: ReactNode
}) {
  return (
    <AlertDialog.Root open={open} onOpenChange={onOpenChange}>
      <DialogPopup>
        <AlertDialog.Title className="font-semibold">{title}</AlertDialog.Title>
        <AlertDialog.Description className="text-sm text-dim">{children}</AlertDialog.Description>
        <div className="flex justify-end gap-2">
          <AlertDialog.Close className={buttonClass('plain')}>Cancel</AlertDialog.Close>
          <Button kind={verbKind} busy={busy} onClick={onConfirm}>
            {verb}
          </Button>
        </div>
      </DialogPopup>
    </AlertDialog.Root>
  )
}

export function DialogPopup({ children }: { children: ReactNode }) {
  return (
    <AlertDialog.Portal>
      <AlertDialog.Backdrop className="fixed inset-0 z-40 bg-black/50" />
      <AlertDialog.Popup className="fixed top-1/2 left-1/2 z-50 flex w-96 max-w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col gap-3 rounded-lg border border-edge bg-raised p-5 shadow-float outline-none">
        {children}
      </AlertDialog.Popup>
    </AlertDialog.Portal>
  )
}
