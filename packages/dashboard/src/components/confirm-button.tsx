import { type ReactNode, useState } from 'react'
import { Button, type ButtonKind } from '../ui/button.tsx'
import { ConfirmDialog } from './confirm-dialog.tsx'

/** A button that asks for confirmation. In a row, `of` names the row for screen readers. */
export function ConfirmButton({
  verb,
  label = verb,
  of,
  kind = 'quiet',
  title,
  busy,
  disabledReason = null,
  onConfirm,
  children,
}: {
  /** The dialog's button. */
  verb: string
  /** The button that opens the dialog. */
  label?: string
  of?: string
  kind?: ButtonKind
  title: string
  busy: boolean
  disabledReason?: string | null
  onConfirm: () => void
  /** The consequences. */
  children: ReactNode
}) {
  const [isConfirming, setConfirming] = useState(false)
  return (
    <>
      <Button
        kind={kind}
        aria-label={of === undefined ? undefined : `${label} ${of}`}
        disabledReason={disabledReason}
        onClick={() => setConfirming(true)}
      >
        {label}
      </Button>
      <ConfirmDialog
        open={isConfirming}
        onOpenChange={setConfirming}
        title={title}
        verb={verb}
        busy={busy}
        onConfirm={() => {
          setConfirming(false)
          onConfirm()
        }}
      >
        {children}
      </ConfirmDialog>
    </>
  )
}
