import type { ReactNode } from 'react'
import { Button, type ButtonKind } from '../ui/button.tsx'
import { Form } from '../ui/field.tsx'
import { Failure } from './failure.tsx'

/** A form that sends a request: its fields, why it failed, and its button. */
export function SendForm({
  of,
  submit,
  kind = 'primary',
  refusal,
  saved,
  extra,
  onSubmit,
  children,
}: {
  of: { isPending: boolean; isSuccess: boolean; error: Error | null }
  /** The label of the button. */
  submit: string
  kind?: ButtonKind
  /** Why it cannot be sent, or null. */
  refusal: string | null
  /** Appears after a success. */
  saved?: string
  /** Stands beside the button. */
  extra?: ReactNode
  onSubmit: () => void
  children: ReactNode
}) {
  return (
    <Form onSubmit={() => refusal === null && !of.isPending && onSubmit()}>
      {children}
      <Button type="submit" kind={kind} busy={of.isPending} disabledReason={refusal}>
        {submit}
      </Button>
      {extra}
      {saved !== undefined && (
        <p role="status" className="w-full text-sm text-dim">
          {of.isSuccess ? saved : ''}
        </p>
      )}
      {of.error !== null && <Failure error={of.error} />}
    </Form>
  )
}
