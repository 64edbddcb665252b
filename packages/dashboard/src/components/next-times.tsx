import { Time } from '../ui/text.tsx'

/** When a trigger starts its next sessions: how soon, and for the later ones the time, since days are too coarse there. */
export function NextTimes({ of: [first, ...later], className = '' }: { of: readonly string[]; className?: string }) {
  if (first === undefined) return null
  return (
    <p className={`text-dim ${className}`}>
      Next: <Time at={first} />
      {later.map((at) => (
        <time key={at} dateTime={at} title={new Date(at).toString()}>
          , {new Date(at).toLocaleString('en-US', parts)}
        </time>
      ))}
    </p>
  )
}

// As the words of the schedule write times.
const parts: Intl.DateTimeFormatOptions = {
  ...({ weekday: 'short', month: 'short', day: 'numeric' } as const),
  ...({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'short' } as const),
}
