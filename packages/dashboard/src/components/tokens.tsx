import { useMutation, useQuery, useQueryClient, type UseQueryOptions } from '@tanstack/react-query'
import { useState } from 'react'
import { askAgain } from '../ask-again.ts'
import type { Token } from '../queries.ts'
import { Button } from '../ui/button.tsx'
import { Card, Empty, Row, Rows } from '../ui/card.tsx'
import { Command } from '../ui/copy.tsx'
import { Form, Input, Select } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { Time } from '../ui/time.tsx'
import { Answer } from './answer.tsx'
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

/** Tokens of a person or a project: made, seen once, revoked. */
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
  /** That makes one in a terminal. */
  command: string
  refusal?: string | null
}) {
  const [name, setName] = useState('')
  const [days, setDays] = useState(daysByDefault)
  const queries = useQueryClient()
  const found = useQuery(list)
  const settle = { onSettled: askAgain(queries, list.queryKey) }
  const make = useMutation({ mutationFn: mint, ...settle, onSuccess: () => setName('') })
  const end = useMutation({ mutationFn: revoke, ...settle })
  return (
    <>
      {make.data !== undefined && (
        <Notice tone="neutral" title="Copy the token now: it is not shown again.">
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
          <Input
            label="Name"
            hint="What it is for"
            value={name}
            maxLength={100}
            onChange={(event) => setName(event.target.value)}
          />
          <Select label="Expires" options={lifetimes} value={days} onChange={(event) => setDays(event.target.value)} />
          <Button
            type="submit"
            kind="primary"
            busy={make.isPending}
            disabledReason={refusal ?? (name.trim() === '' ? 'Give it a name first' : null)}
          >
            Create token
          </Button>
        </Form>
      </Card>
      <Card title="Tokens">
        <Answer of={found} what="tokens">
          {(tokens) =>
            tokens.length === 0 ? (
              <Empty command={command}>No tokens yet. Create one above, or in a terminal:</Empty>
            ) : (
              <Rows label="Tokens">
                {tokens.map((token) => (
                  <Row key={token.token_id}>
                    <span className="min-w-0 flex-1 basis-40">
                      <span className="font-medium">{token.name}</span>
                      {token.session_id !== null && <span className="block text-sm text-dim">of a session</span>}
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
                      Requests with it fail from now on, and so do those with tokens that were created with it.
                    </ConfirmButton>
                  </Row>
                ))}
              </Rows>
            )
          }
        </Answer>
      </Card>
    </>
  )
}
