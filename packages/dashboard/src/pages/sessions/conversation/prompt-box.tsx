import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import { isUnanswered } from '../../../api.ts'
import { useUnavailable } from '../../../cache/use-unavailable.ts'
import { linkClass } from '../../../components/links.tsx'
import { ModelRefusal, useModelRefusal } from '../../../components/no-model.tsx'
import { Failure, useSend } from '../../../components/requests.tsx'
import { useWriteRefusal } from '../../../components/role.ts'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { paths } from '../../../paths.ts'
import { Kbd } from '../../../ui/kbd.tsx'
import { pathOf, promptsKey, type Session } from '../queries.ts'
import { Button, Form } from '../../../ui/form.tsx'
import { AttachButton, ChosenList, readFiles } from './attach-files.tsx'
import { scrollToPanel, withPanel } from '../panel/place.ts'
import { RestartWithAgent, useAgentGone } from '../restart-with-agent.tsx'
import { AgentAndModel } from './agent-and-model.tsx'
import type { Draft, Outgoing } from './use-draft.ts'

export function PromptBox({ session, busy, draft }: { session: Session; busy: boolean; draft: Draft }) {
  const { text, setText, chosen, choice, setChoice } = draft
  const { send, failure, setFailure } = useSendPrompt(session, draft)
  const abort = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/abort', { path: pathOf(session) })
  useOnceBack(() => {
    if (isUnanswered(failure)) setFailure(null)
    if (isUnanswered(abort.error)) abort.reset()
  })
  const roleRefusal = useWriteRefusal(session.account_id)
  const modelRefusal = useModelRefusal(choice.model === undefined ? session.model : choice.model)
  const agentGone = useAgentGone(session, choice.agent)
  const refusal =
    roleRefusal ?? modelRefusal ?? agentGone ?? chosen.refusal ?? (text.trim() === '' ? 'Enter a prompt' : null)
  const submit = () => {
    if (refusal !== null) return
    setFailure(null)
    send.mutate(draft.take())
  }
  const effect = effectOf(session)
  const note = modelRefusal !== null ? <ModelRefusal /> : effect === '' || busy ? '' : `A prompt ${effect}.`
  return (
    <div className="sticky bottom-0 z-10 flex flex-col gap-2 border-t border-line bg-ground px-4 py-3 md:px-6">
      {agentGone !== null && roleRefusal === null && (
        <RestartWithAgent
          session={session}
          reason={send.data?.error?.code === 'agent_not_found' ? null : agentGone}
          onRestarted={send.reset}
        />
      )}
      {(failure ?? abort.error) !== null && <Failure error={failure ?? abort.error} />}
      <PanelLink session={session} />
      <Form
        {...chosen.target}
        className={`@container flex flex-col rounded-lg border border-line-strong bg-panel focus-within:outline-2 focus-within:outline-accent ${chosen.isDraggedOver ? 'outline-2 outline-accent' : ''}`}
        onSubmit={submit}
      >
        <textarea
          ref={draft.field}
          data-next-focus
          aria-label={`Prompt${effect === '' ? '' : ` (${effect})`}`}
          placeholder={busy ? 'Tell the agent what to do next…' : 'Reply, or tell the agent what to do next…'}
          value={text}
          rows={2}
          className="field-sizing-content max-h-[40dvh] min-h-13 w-full resize-none bg-transparent px-3 py-2 outline-none placeholder:text-faint"
          onChange={({ target }) => {
            if (target.value === '') send.giveUp()
            setText(target.value)
          }}
          onKeyDown={({ key, ctrlKey, metaKey }) => key === 'Enter' && (ctrlKey || metaKey) && submit()}
        />
        <ChosenList chosen={chosen} className="px-3 pb-2" />
        <div className="flex flex-wrap items-center gap-2 border-t border-line px-2 py-1.5">
          <AgentAndModel session={session} choice={choice} onChoose={setChoice} refusal={roleRefusal} />
          <AttachButton chosen={chosen} />
          <Note text={note} />
          {busy && (
            <Button
              action={abort}
              title="Ends what the agent is doing now, and cancels the prompts that wait. The session goes on."
            >
              Stop turn
            </Button>
          )}
          <span className="flex gap-0.5 @max-2xl:hidden" aria-hidden>
            <Kbd>{isApple ? '⌘' : 'Ctrl'}</Kbd>
            <Kbd>↵</Kbd>
          </span>
          <Button type="submit" kind="primary" className="@max-sm:ml-auto" disabledReason={refusal}>
            Send
          </Button>
        </div>
      </Form>
    </div>
  )
}

function useSendPrompt(session: Session, draft: Draft) {
  const path = pathOf(session)
  const [failure, setFailure] = useState<Error | null>(null)
  const send = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/prompt', {
    request: async ({ text, choice, files }: Outgoing) => ({
      ...{ path, body: { text, ...choice, ...(await readFiles(files)) } },
    }),
    once: true,
    // In the order in which they were written.
    scope: { id: `prompts of ${session.session_id}` },
    // A failed prompt appears in the conversation. Its text comes back, so that the user can send it again.
    onSuccess: ({ status, prompt_id: promptId }, sent) =>
      status === 'failed' ? draft.putBack(sent) : draft.arrived(sent, promptId),
    onError: (error, sent) => {
      setFailure(error)
      draft.putBack(sent)
    },
    // A refusal may be the first to say that the agent is gone.
    refetch: [promptsKey(session), ['project', session.project_id, 'agents']],
  })
  return { send, failure, setFailure }
}

/** On a narrow screen the panel is below the conversation, and the prompt box covers its beginning. */
function PanelLink({ session: { session_id: sessionId } }: { session: Session }) {
  const { slug } = useProject()
  return (
    <Link
      to={paths.session}
      params={{ project: slug, sessionId }}
      search={(before) => withPanel(before, 'overview')}
      replace
      resetScroll={false}
      onClick={scrollToPanel}
      className={`${linkClass} self-start text-sm lg:hidden`}
    >
      Show changes and details
    </Link>
  )
}

/** Beside the tools, or above them where the box is narrow. */
function Note({ text }: { text: ReactNode }) {
  return (
    <span
      className={`min-w-0 text-sm text-faint @max-2xl:order-first @max-2xl:basis-full @max-2xl:empty:hidden @2xl:flex-1 ${text === '' ? '' : '@2xl:basis-24'}`}
    >
      {text}
    </span>
  )
}

/** Runs it when the service answers again. */
function useOnceBack(run: () => void): void {
  const isAway = useUnavailable() !== null
  const [wasAway, setWasAway] = useState(isAway)
  useEffect(() => {
    if (isAway === wasAway) return
    setWasAway(isAway)
    if (!isAway) run()
  }, [isAway, wasAway, run])
}

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent)

/** What a prompt does besides. */
function effectOf({ status, asleep_since: asleepSince }: Session): string {
  if (status === 'stopped' || status === 'failed') return 'restarts the session'
  return asleepSince == null ? '' : 'wakes the agent'
}
