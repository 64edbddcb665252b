import { Time } from '../ui/text.tsx'

/** When a trigger starts its next sessions: how soon, and the times, since days are too coarse. */
export function NextTimes({
  of: times,
  timeZone,
  className = '',
}: {
  of: readonly string[]
  /** That of the trigger. Without one, that of the reader. */
  timeZone?: string | undefined
  className?: string
}) {
  const [first] = times
  if (first === undefined) return null
  return (
    <p className={`text-dim ${className}`}>
      Next: <Time at={first} />
      {times.map((at) => (
        <time key={at} dateTime={at} title={`Your time: ${new Date(at).toString()}`}>
          {' · '}
          {new Date(at).toLocaleString('en-US', { ...parts, timeZone })}
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
