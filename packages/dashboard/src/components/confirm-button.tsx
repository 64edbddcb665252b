import { type ReactNode, useState } from 'react'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog } from './confirm-dialog.tsx'

/** A quiet button in a row that asks once more; `of` names the row to who does not see it. */
export function ConfirmButton({
  verb,
  of,
  title,
  busy,
  disabledReason = null,
  onConfirm,
  children,
}: {
  verb: string
  of: string
  title: string
  busy: boolean
  disabledReason?: string | null
  onConfirm: () => void
  /** What becomes of it. */
  children: ReactNode
}) {
  const [asks, setAsks] = useState(false)
  return (
    <>
      <Button kind="quiet" aria-label={`${verb} ${of}`} disabledReason={disabledReason} onClick={() => setAsks(true)}>
        {verb}
      </Button>
      <ConfirmDialog
        open={asks}
        onOpenChange={setAsks}
        title={title}
        verb={verb}
        busy={busy}
        onConfirm={() => {
          setAsks(false)
          onConfirm()
        }}
      >
        {children}
      </ConfirmDialog>
    </>
  )
}
