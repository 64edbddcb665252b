import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Failure } from '../../components/failure.tsx'
import { Button } from '../../ui/button.tsx'
import { Form, Input } from '../../ui/field.tsx'
import { count } from './amounts.ts'

/** The limit of `tokenCap` in the contract. */
const tokensMax = 1_000_000_000_000

/** Edits token caps by name; null means no cap. */
export function CapForm<Name extends string>({
  labels,
  caps,
  refusal,
  save,
}: {
  labels: Record<Name, string>
  caps: Record<Name, number | null>
  /** Why the user cannot edit, or null. */
  refusal: string | null
  save: (caps: Record<Name, number | null>) => Promise<unknown>
}) {
  const names = Object.keys(labels) as Name[]
  const [written, setWritten] = useState<Partial<Record<Name, string>>>({})
  const keep = useMutation({
    mutationFn: () => save(toSave()),
    onSuccess: () => setWritten({}),
  })
  const textOf = (name: Name) => written[name] ?? (caps[name] === null ? '' : count(caps[name]))
  const toSave = () =>
    Object.fromEntries(names.map((name) => [name, read(textOf(name))])) as Record<Name, number | null>
  const wrong = names.find((name) => read(textOf(name)) === undefined)
  const disabledReason =
    refusal ?? (wrong === undefined ? null : `${labels[wrong]}: enter a whole number up to ${count(tokensMax)}`)
  return (
    <>
      <Form onSubmit={() => disabledReason === null && !keep.isPending && keep.mutate()}>
        {names.map((name) => (
          <Input
            key={name}
            label={labels[name]}
            hint="In tokens. Leave empty for no cap."
            inputMode="numeric"
            autoComplete="off"
            value={textOf(name)}
            onChange={(value) => setWritten({ ...written, [name]: value })}
          />
        ))}
        <Button type="submit" busy={keep.isPending} disabledReason={disabledReason}>
          {names.length === 1 ? 'Save cap' : 'Save caps'}
        </Button>
        <p role="status" className="w-full text-sm text-dim empty:hidden">
          {keep.isSuccess && Object.keys(written).length === 0 ? 'Saved.' : ''}
        </p>
      </Form>
      {keep.isError && <Failure error={keep.error} />}
    </>
  )
}

/** Undefined if the text is not a cap. Accepts separators as in 2,000,000 and 2 000 000. */
function read(text: string): number | null | undefined {
  const digits = text.replace(/[\s,_.']/g, '')
  if (digits === '') return null
  return /^\d+$/.test(digits) && Number(digits) <= tokensMax ? Number(digits) : undefined
}
