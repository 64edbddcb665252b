import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Badge } from '../../ui/text.tsx'
import { Card, Empty } from '../../ui/layout.tsx'
import { count, duration } from './amounts.ts'
import type { Usage } from './queries.ts'

const spans = [7, 31, 90] as const
export const defaultDays = 31

/** The range of days. Each choice has a URL. */
export function Days({ chosen }: { chosen: number }) {
  return (
    <nav aria-label="Days" className="flex gap-1">
      {spans.map((days) => (
        <Link
          key={days}
          to="."
          search={days === defaultDays ? {} : { days }}
          aria-current={days === chosen ? 'true' : undefined}
          activeProps={{}}
          className={`inline-flex min-h-control items-center rounded-md px-2.5 text-sm hover:text-text ${days === chosen ? 'bg-hover text-text' : 'text-dim'}`}
        >
          {days} days
        </Link>
      ))}
    </nav>
  )
}

export function Totals({ usage: { totals, from, to } }: { usage: Usage }) {
  const figures = [
    ['Sandbox time', duration(totals.sandbox_seconds)],
    ['Tokens in', count(totals.tokens_in)],
    ['Tokens out', count(totals.tokens_out)],
    ['Model calls', count(totals.calls)],
  ] as const
  return (
    <section aria-label={`From ${from} to ${to}`} className="flex flex-col gap-2">
      <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line sm:grid-cols-4">
        {figures.map(([name, value]) => (
          <div key={name} className="flex flex-col bg-panel px-4 py-3">
            <dt className="text-sm text-dim">{name}</dt>
            <dd className="text-xl font-semibold tabular-nums">{value}</dd>
          </div>
        ))}
      </dl>
      <p className="text-sm text-dim">
        {from} to {to} (UTC)
      </p>
    </section>
  )
}

export interface UsedRow {
  key: string
  name: ReactNode
  sandbox_seconds: number
  tokens_in: number
  tokens_out: number
  reached?: boolean
}

/** Usage by row, the largest first. */
export function UsedTable({ title, of, rows, empty }: { title: string; of: string; rows: UsedRow[]; empty: string }) {
  return (
    <Card title={title}>
      {rows.length === 0 ? (
        <Empty>{empty}</Empty>
      ) : (
        <div className="overflow-x-auto" tabIndex={0} role="region" aria-label={title}>
          <table className="w-full text-sm">
            <thead className="text-left text-dim">
              <tr className="border-b border-line">
                <th scope="col" className="px-4 py-2 font-normal max-sm:pr-2">
                  {of}
                </th>
                {['Sandbox time', 'Tokens in', 'Tokens out'].map((head) => (
                  <th
                    key={head}
                    scope="col"
                    className="px-4 py-2 text-right font-normal max-sm:pl-2 sm:whitespace-nowrap"
                  >
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.key} className="border-b border-line last:border-0">
                  <th
                    scope="row"
                    className="min-w-24 px-4 py-2 text-left font-normal break-words max-sm:pr-2 sm:min-w-40"
                  >
                    {row.name} {row.reached === true && <Badge tone="bad">cap reached</Badge>}
                  </th>
                  <td className="px-4 py-2 text-right whitespace-nowrap tabular-nums max-sm:pl-2">
                    {duration(row.sandbox_seconds)}
                  </td>
                  <td className="px-4 py-2 text-right tabular-nums max-sm:pl-2">{count(row.tokens_in)}</td>
                  <td className="px-4 py-2 text-right tabular-nums max-sm:pl-2">{count(row.tokens_out)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  )
}
