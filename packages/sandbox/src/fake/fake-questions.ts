/** Permissions and questions of the fake runtime: the events, lists and replies of opencode 1.18. */

export interface FakePermission {
  permission: string
  patterns: string[]
  always?: string[]
  metadata?: Record<string, unknown>
}

export interface FakeQuestion {
  question: string
  options: { label: string; description: string }[]
  multiple?: boolean
}

/** The end of a request: a reply with its body, a rejection, or a withdrawal. */
export type FakeReply =
  | { kind: 'replied'; body: Record<string, unknown> }
  | { kind: 'rejected' }
  | { kind: 'withdrawn' }

export type FakeQuestions = ReturnType<typeof createFakeQuestions>

export function createFakeQuestions(runtime: {
  sessionId: () => string
  newId: (kind: string) => string
  emit: (type: string, properties: unknown) => void
}) {
  const none = () => new Map<string, { request: { id: string }; settle: (reply: FakeReply) => void }>()
  const pending = { permission: none(), question: none() }

  function ask(kind: 'permission' | 'question', fields: Record<string, unknown>): Promise<FakeReply> {
    const id = runtime.newId(kind === 'permission' ? 'per' : 'que')
    const request = { id, sessionID: runtime.sessionId(), ...fields }
    return new Promise((settle) => {
      pending[kind].set(id, { request, settle })
      runtime.emit(`${kind}.asked`, request)
    })
  }

  return {
    askPermission: ({ metadata = {}, always = [], ...fields }: FakePermission) =>
      ask('permission', { ...fields, metadata, always }),
    askQuestions: (questions: FakeQuestion[]) =>
      ask('question', { questions: questions.map((one) => ({ header: '', ...one })) }),
    /** Forgets every request without an event, as an interrupted turn does. */
    withdraw(): void {
      for (const kind of Object.values(pending)) {
        for (const { settle } of kind.values()) settle({ kind: 'withdrawn' })
        kind.clear()
      }
    },
    /** Null for paths of others. */
    async answer(path: string, req: Request): Promise<Response | null> {
      if (path === '/permission') return Response.json([...pending.permission.values()].map(({ request }) => request))
      if (path === '/question') return Response.json([...pending.question.values()].map(({ request }) => request))
      const [, kind, id = '', verb] = /^\/(permission|question)\/([^/]+)\/(reply|reject)$/.exec(path) ?? []
      if (kind !== 'permission' && kind !== 'question') return null
      const found = pending[kind].get(id)
      if (found === undefined) return Response.json({ name: 'NotFoundError', data: {} }, { status: 404 })
      const body = (await req.json()) as Record<string, unknown>
      pending[kind].delete(id)
      const of = { sessionID: runtime.sessionId(), requestID: id }
      if (verb === 'reject') {
        runtime.emit(`${kind}.rejected`, of)
        found.settle({ kind: 'rejected' })
      } else {
        runtime.emit(`${kind}.replied`, { ...of, ...body })
        found.settle({ kind: 'replied', body })
      }
      return Response.json(true)
    },
  }
}
