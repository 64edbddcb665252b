import { type ComponentProps, useState } from 'react'
import { Button, type ButtonKind } from '../ui/form.tsx'
import { ConfirmDialog } from './confirm-dialog.tsx'

type Dialog = Omit<ComponentProps<typeof ConfirmDialog>, 'open' | 'onOpenChange' | 'busy' | 'onConfirm'>

/** A button that asks for confirmation. In a row, `of` names the row for screen readers. */
export function ConfirmButton<Given>({
  label,
  of,
  kind = 'quiet',
  disabledReason = null,
  action,
  given,
  ...dialog
}: Dialog & {
  /** The button that opens the dialog; by default it has the name of the dialog's button. */
  label?: string
  of?: string
  kind?: ButtonKind
  disabledReason?: string | null
  /** The dialog's button runs this, with `given`. */
  action: { isPending: boolean; mutate: (given: Given) => void }
  given: Given
}) {
  const [isConfirming, setConfirming] = useState(false)
  const shown = label ?? dialog.verb
  return (
    <>
      <Button
        kind={kind}
        aria-label={of === undefined ? undefined : `${shown} ${of}`}
        disabledReason={disabledReason}
        onClick={() => setConfirming(true)}
      >
        {shown}
      </Button>
      <ConfirmDialog
        {...dialog}
        open={isConfirming}
        onOpenChange={setConfirming}
        busy={action.isPending}
        onConfirm={() => {
          setConfirming(false)
          action.mutate(given)
        }}
      />
    </>
  )
}
