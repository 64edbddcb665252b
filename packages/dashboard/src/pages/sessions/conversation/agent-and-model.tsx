/** Chooses the agent and the model from the next prompt on. */
import { Menu } from '@base-ui/react/menu'
import { useQuery } from '@tanstack/react-query'
import { ChevronDown } from 'lucide-react'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { buttonClass } from '../../../ui/form.tsx'
import { MenuChoice, MenuPopup } from '../../../ui/menu.tsx'
import { models } from '../../settings/queries.ts'
import { agents, type Session } from '../queries.ts'
import type { Choice } from './use-draft.ts'

const defaultModel = ''

export function AgentAndModel({
  session,
  choice,
  onChoose,
  refusal,
}: {
  session: Session
  choice: Choice
  onChoose: (choice: Choice) => void
  /** Why nothing can be chosen, or null. */
  refusal: string | null
}) {
  const { data: names = [] } = useQuery(agents(useProject()))
  const { data: offered = [] } = useQuery(models)
  const agent = choice.agent ?? session.agent_name
  const model = (choice.model === undefined ? session.model : choice.model) ?? defaultModel
  const first = offered.find((each) => each.default)?.name
  const listed = offered.map(({ id, name }) => [id, name] as const)
  // One that the server no longer lists stays visible, because the session still has it.
  const unlisted = [session.model, model].filter((id) => id !== null && id !== defaultModel)
  const rest = [...new Set(unlisted)].filter((id) => !offered.some((each) => each.id === id))
  return (
    <span className="flex min-w-0 items-center gap-1 @max-2xl:flex-1 @max-2xl:basis-0 @2xl:flex-wrap">
      <Picker
        label="Model"
        className="max-w-44 min-w-0"
        value={model}
        options={[
          [defaultModel, first === undefined ? 'Default model' : `Default (${first})`],
          ...listed,
          ...rest.map((id) => [id!, id!] as const),
        ]}
        refusal={refusal}
        onChange={(next) => onChoose({ ...choice, model: next === defaultModel ? null : next })}
      />
      <Picker
        label="Agent"
        className="max-w-24 flex-none @2xl:max-w-44"
        value={agent}
        options={[...new Set([...names, session.agent_name])].map((name) => [name, name] as const)}
        refusal={refusal}
        onChange={(next) => onChoose({ ...choice, agent: next })}
      />
    </span>
  )
}

function Picker({
  label,
  className,
  value,
  options,
  refusal,
  onChange,
}: {
  label: string
  className: string
  value: string
  options: readonly (readonly [value: string, label: string])[]
  refusal: string | null
  onChange: (value: string) => void
}) {
  const shown = options.find(([each]) => each === value)?.[1] ?? value
  return (
    <Menu.Root disabled={refusal !== null}>
      <Menu.Trigger
        aria-label={`${label}: ${shown}`}
        title={refusal ?? `${label} from the next prompt on`}
        className={`${buttonClass('quiet')} ${className} px-1.5!`}
      >
        <span className="truncate">{shown}</span>
        <ChevronDown aria-hidden className="size-3.5 flex-none" />
      </Menu.Trigger>
      <MenuPopup align="start">
        <MenuChoice label={label} options={options} value={value} onChange={onChange} closeOnClick />
      </MenuPopup>
    </Menu.Root>
  )
}
