import { useMutation, useQuery, type UseQueryOptions } from '@tanstack/react-query'
import { useState } from 'react'
import { useInvalidate } from '../cache/invalidate.ts'
import type { Token } from '../pages/account/queries.ts'
import { Button } from '../ui/button.tsx'
import { Card, Empty, Row, Rows } from '../ui/card.tsx'
import { Command } from '../ui/copy.tsx'
import { Form, Input, Select } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { Time } from '../ui/time.tsx'
import { QueryResult } from './query-result.tsx'
import { ConfirmButton } from './confirm-button.tsx'
import { Failure } from './failure.tsx'

const daysByDefault = '90'
const lifetimes = [
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
  ['', 'Never'],
] as const

const inDays = (days: string) =>
  days === '' ? null : new Date(Date.now() + Number(days) * 24 * 60 * 60_000).toISOString()

/** The tokens of a user or a project: create, show once, revoke. */
export function Tokens<Key extends readonly unknown[]>({
  list,
  mint,
  revoke,
  command,
  refusal = null,
}: {
  list: UseQueryOptions<Token[], Error, Token[], Key> & { queryKey: Key }
  mint: (token: { name: string; expires_at: string | null }) => Promise<{ secret_key: string }>
  revoke: (tokenId: string) => Promise<unknown>
  /** Creates a token in a terminal. */
  command: string
  refusal?: string | null
}) {
  const [name, setName] = useState('')
  const [days, setDays] = useState(daysByDefault)
  const found = useQuery(list)
  const settle = { onSettled: useInvalidate(list.queryKey) }
  const make = useMutation({ mutationFn: mint, ...settle, onSuccess: () => setName('') })
  const end = useMutation({ mutationFn: revoke, ...settle })
  return (
    <>
      {make.data !== undefined && (
        <Notice tone="neutral" title="Copy the token now. It won't be shown again.">
          <Command>{make.data.secret_key}</Command>
        </Notice>
      )}
      {(make.error ?? end.error) !== null && <Failure error={make.error ?? end.error} />}
      <Card title="Create a token">
        <Form
          onSubmit={() =>
            refusal === null &&
            name.trim() !== '' &&
            !make.isPending &&
            make.mutate({ name: name.trim(), expires_at: inDays(days) })
          }
        >
          <Input label="Name" hint="What it is for" value={name} maxLength={100} onChange={setName} />
          <Select label="Expires" options={lifetimes} value={days} onChange={setDays} />
          <Button
            type="submit"
            kind="primary"
            busy={make.isPending}
            disabledReason={refusal ?? (name.trim() === '' ? 'Enter a name' : null)}
          >
            Create token
          </Button>
        </Form>
      </Card>
      <Card title="Tokens">
        <QueryResult of={found} what="tokens">
          {(tokens) =>
            tokens.length === 0 ? (
              <Empty command={command}>No tokens yet. Create one above, or in a terminal:</Empty>
            ) : (
              <Rows label="Tokens">
                {tokens.map((token) => (
                  <Row key={token.token_id}>
                    <span className="min-w-0 flex-1 basis-40">
                      <span className="font-medium">{token.name}</span>
                      {token.session_id !== null && <span className="block text-sm text-dim">used by a session</span>}
                    </span>
                    <span className="text-sm text-dim">
                      {token.last_used_at === null ? (
                        'never used'
                      ) : (
                        <>
                          used <Time at={token.last_used_at} />
                        </>
                      )}
                      {token.expires_at !== null && (
                        <>
                          {' '}
                          · expires <Time at={token.expires_at} />
                        </>
                      )}{' '}
                      · created <Time at={token.created_at} />
                    </span>
                    <ConfirmButton
                      verb="Revoke"
                      of={token.name}
                      title={`Revoke ${token.name}?`}
                      busy={end.isPending}
                      disabledReason={refusal}
                      onConfirm={() => end.mutate(token.token_id)}
                    >
                      Requests with this token, and with tokens created with it, start failing immediately.
                    </ConfirmButton>
                  </Row>
                ))}
              </Rows>
            )
          }
        </QueryResult>
      </Card>
    </>
  )
}
