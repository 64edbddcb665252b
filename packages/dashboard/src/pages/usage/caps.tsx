import { useState } from 'react'
import { SendForm, type Sending } from '../../components/requests.tsx'
import { Input, twoColumns } from '../../ui/form.tsx'
import { count } from './amounts.ts'
import { Meter } from '../../ui/meter.tsx'

/** The limit of `tokenCap` in the contract. */
const tokensMax = 1_000_000_000_000

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
  save: Sending<Record<Name, number | null>>
}) {
  const names = Object.keys(labels) as Name[]
  const [written, setWritten] = useState<Partial<Record<Name, string>>>({})
  const textOf = (name: Name) => written[name] ?? (caps[name] === null ? '' : count(caps[name]))
  const toSave = () =>
    Object.fromEntries(names.map((name) => [name, read(textOf(name))])) as Record<Name, number | null>
  const wrong = names.find((name) => read(textOf(name)) === undefined)
  const wrongReason = wrong && `${labels[wrong]}: enter a whole number up to ${count(tokensMax)}`
  return (
    <SendForm
      className={twoColumns}
      of={save}
      submit={names.length === 1 ? 'Save cap' : 'Save caps'}
      kind="plain"
      refusal={refusal ?? wrongReason ?? null}
      saved={Object.keys(written).length === 0 ? 'Saved.' : ''}
      onSubmit={() => save.mutate(toSave(), { onSuccess: () => setWritten({}) })}
    >
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
    </SendForm>
  )
}

/** Undefined if the text is not a cap. Accepts separators as in 2,000,000 and 2 000 000. */
function read(text: string): number | null | undefined {
  const digits = text.replace(/[\s,_.']/g, '')
  if (digits === '') return null
  return /^\d+$/.test(digits) && Number(digits) <= tokensMax ? Number(digits) : undefined
}

const words = { reached: 'cap reached', near: 'almost reached' }

export function CapMeter({ of, label, tokens, taken }: { of: string; label: string; tokens: number; taken: number }) {
  return (
    <div className="flex flex-col gap-1.5 px-4 py-3 text-sm">
      <Meter
        of={of}
        label={label}
        words={words}
        used={taken}
        limit={tokens}
        text={`${count(taken)} of ${count(tokens)} tokens`}
      />
    </div>
  )
}
