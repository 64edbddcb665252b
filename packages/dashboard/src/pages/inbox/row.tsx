import { Menu } from '@base-ui/react/menu'
import { Link } from '@tanstack/react-router'
import { Check, Clock, Undo2 } from 'lucide-react'
import type { ReactNode, Ref } from 'react'
import { ChangeRequestLink, SessionLink } from '../../components/links.tsx'
import { paths } from '../../paths.ts'
import { Avatar } from '../../ui/avatar.tsx'
import { buttonClass } from '../../ui/form.tsx'
import { MenuItem, MenuPopup } from '../../ui/menu.tsx'
import { Stat } from '../../ui/stat.tsx'
import { Badge, Time, type Tone, withCode } from '../../ui/text.tsx'
import { snoozeTimes } from './put-away.ts'
import type { InboxItem } from './queries.ts'

const shown: Record<InboxItem['state'], [label: string, tone: Tone, action: string]> = {
  question: ['question', 'warn', 'Answer'],
  permission: ['permission', 'warn', 'Answer'],
  connector: ['approval', 'warn', 'Decide'],
  ready: ['ready', 'good', 'Review'],
  confirm: ['to confirm', 'warn', 'Review'],
  base_merged: ['base merged', 'warn', 'See why'],
  answered: ['answered', 'merged', 'Review'],
  collides: ['collides', 'warn', 'Review'],
  checking: ['checking', 'neutral', 'Review'],
  unreachable: ['unreachable', 'neutral', 'Open'],
  empty: ['nothing to merge', 'neutral', 'Open'],
  conflicts: ['conflicts', 'bad', 'Resolve'],
  manifest_invalid: ['svc.toml invalid', 'bad', 'See why'],
  branch_deleted: ['branch deleted', 'bad', 'Open'],
  failing: ['checks failed', 'bad', 'See checks'],
  failed: ['failed', 'bad', 'See why'],
  turn_failed: ['turn failed', 'bad', 'See why'],
  starting: ['starting', 'accent', 'Open'],
  working: ['running', 'good', 'Watch'],
  idle: ['waiting', 'neutral', 'Open'],
}

interface RowProps {
  item: InboxItem
  isSelected: boolean
  isSnoozing: boolean
  link: Ref<HTMLAnchorElement>
  onSelect: () => void
  onSnoozing: (open: boolean) => void
  onPutAway: (until: string | null) => void
  onRestore: (() => void) | null
}

export function InboxRow({ item, isSelected, isSnoozing, link, ...on }: RowProps) {
  const [label, tone, action] = shown[item.state]
  const { project, session, author, additions, deletions } = item
  return (
    <li
      onFocus={on.onSelect}
      onMouseMove={on.onSelect}
      className={`group relative grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-1 border-b border-line px-4 py-row lg:grid-cols-[7.5rem_minmax(0,1fr)_auto] md:px-6 ${isSelected ? 'bg-selected' : ''}`}
    >
      <span className="max-lg:col-span-2">
        <Badge tone={tone}>{label}</Badge>
      </span>
      <div className="min-w-0">
        <p className="min-w-0 max-lg:line-clamp-3 lg:flex lg:items-baseline lg:gap-2">
          <ItemLink item={item} ref={link}>
            {item.title}
          </ItemLink>{' '}
          {item.number !== null && <span className="flex-none text-faint">#{item.number}</span>}
          {item.task !== null && <span className="min-w-0 truncate text-sm text-dim max-lg:hidden">{item.task}</span>}
        </p>
        <p className="line-clamp-2 text-sm text-dim">
          {withCode(item.why)} <span className="text-faint">· {project.name}</span>
        </p>
      </div>
      <div className="flex items-center justify-end gap-3 text-sm text-dim max-lg:col-start-1 max-lg:justify-start">
        {additions !== null && deletions !== null && <Stat additions={additions} deletions={deletions} />}
        {session !== null ? (
          <Avatar name={session.name} of="agent" />
        ) : author !== null ? (
          <Avatar name={author} of="person" />
        ) : (
          <span className="size-5 flex-none max-lg:hidden" />
        )}
        <span className="lg:w-28 lg:flex-none lg:text-right">
          <Time at={item.updated_at} />
        </span>
        {/* The buttons take its place. */}
        <span className="w-20 flex-none text-dim group-focus-within:invisible group-hover:invisible max-lg:hidden">
          {action}
        </span>
      </div>
      <div className="relative z-10 flex gap-1 max-lg:col-start-2 max-lg:row-start-2 lg:absolute lg:right-4 lg:bg-selected lg:opacity-0 lg:group-focus-within:opacity-100 lg:group-hover:opacity-100">
        {on.onRestore === null ? (
          <>
            <Snooze item={item} isOpen={isSnoozing} onOpen={on.onSnoozing} onSnooze={on.onPutAway} />
            <button
              type="button"
              className={buttonClass('quiet')}
              aria-label={`Mark “${item.title}” as done`}
              title="Mark as done (e)"
              onClick={() => on.onPutAway(null)}
            >
              <Check aria-hidden className="size-4" />
            </button>
          </>
        ) : (
          <button type="button" className={buttonClass()} onClick={on.onRestore}>
            <Undo2 aria-hidden className="size-4" /> Return to inbox
          </button>
        )}
      </div>
    </li>
  )
}

function Snooze({
  item,
  isOpen,
  onOpen,
  onSnooze,
}: {
  item: InboxItem
  isOpen: boolean
  onOpen: (open: boolean) => void
  onSnooze: (until: string) => void
}) {
  return (
    <Menu.Root open={isOpen} onOpenChange={onOpen}>
      <Menu.Trigger className={buttonClass('quiet')} aria-label={`Snooze “${item.title}”`} title="Snooze (h)">
        <Clock aria-hidden className="size-4" />
      </Menu.Trigger>
      {isOpen && (
        <MenuPopup align="end">
          {snoozeTimes(new Date()).map(([label, until]) => (
            <MenuItem key={label} onClick={() => onSnooze(until)}>
              <span className="flex-1">{label}</span>
              <span className="text-faint">{shortTime(until)}</span>
            </MenuItem>
          ))}
        </MenuPopup>
      )}
    </Menu.Root>
  )
}

const shortTime = (iso: string) =>
  new Date(iso).toLocaleString('en-US', { weekday: 'short', hour: 'numeric', minute: '2-digit' })

function ItemLink({ item, ref, children }: { item: InboxItem; ref: Ref<HTMLAnchorElement>; children: ReactNode }) {
  const { project, number, session, task } = item
  // The link covers the row, so that it is one large target, and its title is the one that a pointer finds.
  const className = `font-semibold text-text lg:truncate after:absolute after:inset-0 after:-outline-offset-2 after:outline-accent focus-visible:outline-none focus-visible:after:outline-2 ${task === null ? '' : 'lg:max-w-[70%] lg:flex-none'}`
  const title = [item.title, task, item.why].filter((text) => text !== null).join('\n')
  const rest = { ref, className, title }
  if (number !== null)
    return (
      <ChangeRequestLink project={project.slug} number={number} aria-label={`#${number} ${item.title}`} {...rest}>
        {children}
      </ChangeRequestLink>
    )
  if (session !== null)
    return (
      <SessionLink project={project.slug} sessionId={session.session_id} {...rest}>
        {children}
      </SessionLink>
    )
  return (
    <Link to={paths.connectors} params={{ project: project.slug }} {...rest}>
      {children}
    </Link>
  )
}
