import { Meter } from '../../ui/meter.tsx'
import { count } from './amounts.ts'

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
