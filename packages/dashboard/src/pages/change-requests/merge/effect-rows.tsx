import { Failure, useSend } from '../../../components/requests.tsx'
import { NextTimes } from '../../../components/next-times.tsx'
import { useWriteRefusal } from '../../../components/role.ts'
import { type ChangeRequest, type EffectDetail, type Effects } from '../queries.ts'
import { Button, Form, fieldClass, useFields } from '../../../ui/form.tsx'
import { Badge, type Tone } from '../../../ui/text.tsx'
import type { Landing } from './landing.ts'

const tones: Partial<Record<string, Tone>> = { trigger: 'accent', app: 'merged', connector: 'warn', secret: 'warn' }

type Shown = Omit<EffectDetail, 'kind'> & { kind: string }

/** Each changed entry of svc.toml, and the changed skills and agents, which are files. */
export function shownDetails(found: Effects): Shown[] {
  const ofFiles = (kind: string, changes: Effects['skills']) =>
    changes.map((each): Shown => ({ kind, ...each, fields: [], next_fire_at: [], confirm: [] }))
  return [...found.details, ...ofFiles('skill', found.skills), ...ofFiles('agent', found.agents)]
}

/**
 * Before and after of each effect. With `landing`, what needs a person's confirmation is a checkbox. With `sentences`, each
 * begins with what it does after the merge.
 */
export function EffectRows({
  details,
  landing,
  sentences = [],
}: {
  details: Shown[]
  landing?: Landing
  sentences?: string[]
}) {
  return (
    <ul aria-label="Effects of landing" className="flex flex-col gap-3">
      {details.map((detail) => (
        <li
          key={`${detail.kind} ${detail.name} ${detail.change}`}
          className="grid grid-cols-[5.75rem_minmax(0,1fr)] gap-x-2"
        >
          <span>
            <Badge tone={tones[detail.kind] ?? 'neutral'}>{detail.kind}</Badge>
          </span>
          <div className="min-w-0">
            <Headline of={detail} sentence={sentences.find((each) => isAbout(each, detail))} />
            {detail.fields.length > 0 && <Fields of={detail} />}
            <NextTimes of={detail.next_fire_at} timeZone={detail.timezone} className="text-xs" />
            {landing !== undefined &&
              detail.confirm.map((text) => <Confirm key={text} text={text} landing={landing} />)}
          </div>
        </li>
      ))}
    </ul>
  )
}

/** The sentence about an effect begins with its kind and its name: `Trigger nightly is changed: …`. */
const isAbout = (sentence: string, { kind, name }: Shown) =>
  sentence.startsWith(`${kind.charAt(0).toUpperCase()}${kind.slice(1)} ${name} is `)

function Headline({ of: { name, change }, sentence }: { of: Shown; sentence: string | undefined }) {
  if (sentence !== undefined) return <p className="wrap-anywhere">{sentence}</p>
  return (
    <p>
      <span className="font-medium break-all">{name}</span> <span className="text-sm text-dim">{change}</span>
    </p>
  )
}

function Fields({ of: { name, change, fields } }: { of: Shown }) {
  return (
    <dl className="text-sm">
      {fields.map(({ field, before, after }) => (
        <div key={field} className="wrap-break-word">
          <dt className={field === name ? 'sr-only' : 'inline text-dim'}>{field}: </dt>
          <dd className="inline">
            {before !== null && <del className={`text-dim ${after === null ? '' : 'no-underline'}`}>{before}</del>}
            {before !== null && after !== null && ' → '}
            {after !== null && <ins className={`no-underline ${change === 'added' ? '' : 'font-medium'}`}>{after}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Confirm({ text, landing }: { text: string; landing: Landing }) {
  const found = landing.confirms.find((each) => each.text === text)
  if (found === undefined) return <p className="text-sm text-warn">{text}</p>
  return (
    <label className="mt-1 flex items-start gap-2 text-sm">
      <input
        type="checkbox"
        data-confirms={text}
        className="mt-0.75 size-3.5 flex-none accent-accent-fill outline-offset-2 outline-accent focus:outline-2"
        checked={found.isTicked}
        onChange={({ target }) => landing.tick(text, target.checked)}
      />
      <span>
        {text} <span className="text-dim">I have checked this.</span>
      </span>
    </label>
  )
}

export function focusConfirm(text: string): void {
  document.querySelector<HTMLElement>(`input[data-confirms="${CSS.escape(text)}"]`)?.focus()
}

/** A secret that the merge needs, to set in place. */
export function MissingSecret({ cr, name }: { cr: ChangeRequest; name: string }) {
  const refusal = useWriteRefusal(cr.account_id)
  const { values, set } = useFields({ value: '' })
  const save = useSend('POST', '/v1/projects/{projectId}/secrets', {
    path: { projectId: cr.project_id },
    refetch: [
      ['project', cr.project_id, 'effects'],
      ['project', cr.project_id, 'secrets'],
    ],
  })
  const reason = refusal ?? (values.value === '' ? 'Enter a value' : null)
  return (
    <li className="flex flex-col gap-1">
      <code className="font-mono text-sm break-all">{name}</code>
      {refusal === null && (
        <Form
          className="flex flex-wrap items-center gap-2"
          onSubmit={() => reason === null && !save.isPending && save.mutate({ name, value: values.value })}
        >
          <input
            type="password"
            autoComplete="off"
            aria-label={`Value of ${name}`}
            placeholder="Value"
            className={`${fieldClass} min-w-0 flex-1 basis-32`}
            value={values.value}
            onChange={({ target }) => set({ value: target.value })}
          />
          <Button type="submit" busy={save.isPending} disabledReason={reason} aria-label={`Set ${name}`}>
            Set
          </Button>
        </Form>
      )}
      {save.error !== null && <Failure error={save.error} />}
    </li>
  )
}
