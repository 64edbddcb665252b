import type { QueryKey, UseQueryOptions } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Token } from '../pages/account/queries.ts'
import type { ProjectToken } from '../pages/projects/queries.ts'
import { Card, Empty, Notice, Row, rowFacts, Rows } from '../ui/layout.tsx'
import { Command, Time } from '../ui/text.tsx'
import { Input, Select, useFields } from '../ui/form.tsx'
import { ConfirmButton } from './confirm-button.tsx'
import { Failure, Read, SendForm } from './requests.tsx'

const lifetimes = [
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
  ['', 'Never'],
] as const
type Days = (typeof lifetimes)[number][0]

const inDays = (days: Days) =>
  days === '' ? null : new Date(Date.now() + Number(days) * 24 * 60 * 60_000).toISOString()

interface Sending<Result, Given> {
  isPending: boolean
  isSuccess: boolean
  error: Error | null
  data: Result | undefined
  mutate: (given: Given, options?: { onSuccess: () => void }) => void
}

/** A list of project tokens adds fields. */
type AnyToken = Token & Partial<ProjectToken>

interface TokensOf<T extends AnyToken, Key extends QueryKey> {
  list: UseQueryOptions<T[], Error, T[], Key>
  mint: Sending<{ secret_key: string }, { name: string; expires_at: string | null }>
  revoke: Sending<unknown, string>
  command: string
  refusal?: string | null
  /** Names the session that uses a token. */
  session?: (sessionId: string) => ReactNode
}

/** The tokens of a user or a project: create, show once, revoke. */
export function Tokens<T extends AnyToken, Key extends QueryKey>({
  list,
  mint,
  revoke,
  command,
  refusal = null,
  session,
}: TokensOf<T, Key>) {
  const { values, set, field } = useFields<{ name: string; days: Days }>({ name: '', days: '90' })
  const name = values.name.trim()
  return (
    <>
      {mint.data !== undefined && (
        <Notice tone="neutral" title="Copy the token now. It won't be shown again.">
          <Command>{mint.data.secret_key}</Command>
        </Notice>
      )}
      {revoke.error !== null && <Failure error={revoke.error} />}
      <Card title="Create a token">
        <SendForm
          of={mint}
          submit="Create token"
          refusal={refusal ?? (name === '' ? 'Enter a name' : null)}
          onSubmit={() =>
            mint.mutate({ name, expires_at: inDays(values.days) }, { onSuccess: () => set({ name: '' }) })
          }
        >
          <Input label="Name" hint="What it is for" maxLength={100} {...field('name')} />
          <Select label="Expires" options={lifetimes} {...field('days')} />
        </SendForm>
      </Card>
      <Card title="Tokens">
        <Read query={list} what="tokens">
          {(tokens) => (
            <Rows
              label="Tokens"
              empty={<Empty command={command}>No tokens yet. Create one above, or in a terminal:</Empty>}
            >
              {tokens.map((token) => (
                <TokenRow
                  key={token.token_id}
                  token={token}
                  revoke={revoke}
                  refusal={refusal}
                  session={token.session_id === null ? null : (session?.(token.session_id) ?? 'a session')}
                />
              ))}
            </Rows>
          )}
        </Read>
      </Card>
    </>
  )
}

function TokenRow({
  token,
  revoke,
  refusal,
  session,
}: { token: AnyToken; session: ReactNode } & Required<Pick<TokensOf<AnyToken, never>, 'revoke' | 'refusal'>>) {
  return (
    <Row>
      <span className="min-w-0 flex-1 lg:basis-40">
        <span className="font-medium">{token.name}</span>
        {token.created_by_name !== undefined && (
          <span className="block text-sm text-dim">
            of {token.created_by_name}
            {token.is_member === false && ', no longer a member: its requests are refused'}
          </span>
        )}
        {session !== null && <span className="block text-sm text-dim">used by {session}</span>}
      </span>
      <span className={rowFacts}>
        {token.last_used_at === null ? 'never used' : <>used {<Time at={token.last_used_at} />}</>}
        {token.expires_at !== null && <> · expires {<Time at={token.expires_at} />}</>} · created{' '}
        <Time at={token.created_at} />
      </span>
      <ConfirmButton
        verb="Revoke"
        of={token.name}
        title={`Revoke ${token.name}?`}
        action={revoke}
        given={token.token_id}
        disabledReason={refusal}
      >
        Requests with this token, and with tokens created with it, start failing immediately.
      </ConfirmButton>
    </Row>
  )
}
