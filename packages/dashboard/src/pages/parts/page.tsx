/** Every part of `ui/` in every state, to look at while one works on it. Only development builds have this page. */
import { Tabs } from '@base-ui/react/tabs'
import { type ReactNode, useState } from 'react'
import { Avatar } from '../../ui/avatar.tsx'
import { Button, type ButtonKind, Input, Select, sideBySide, TextArea } from '../../ui/form.tsx'
import { Kbd } from '../../ui/kbd.tsx'
import {
  Card,
  Empty,
  GroupHeading,
  Notice,
  Page,
  PanelSection,
  Row,
  Rows,
  Skeleton,
  TwoPane,
} from '../../ui/layout.tsx'
import { Meter } from '../../ui/meter.tsx'
import { Stat } from '../../ui/stat.tsx'
import { TabList } from '../../ui/tabs.tsx'
import { Badge, Command, Time, type Tone } from '../../ui/text.tsx'
import { Tooltip } from '../../ui/tooltip.tsx'

const tones: Tone[] = ['neutral', 'good', 'warn', 'bad', 'accent', 'merged']
const kinds: ButtonKind[] = ['plain', 'primary', 'merge', 'danger', 'quiet']
const sizes = [
  [182, 31],
  [0, 12],
  [3, 0],
  [1, 400],
  [0, 0],
] as const
const nothing = () => {}

export function PartsPage() {
  return (
    <main className="px-4 py-5 md:px-6">
      <TwoPane label="Panel" panel={<Panel />}>
        <div className="px-4 py-5 md:px-6">
          <Page title="Parts">
            <Shown title="Badges">
              {tones.map((tone) => (
                <Badge key={tone} tone={tone}>
                  {tone}
                </Badge>
              ))}
            </Shown>
            <Buttons />
            <Shown title="Avatars, sizes, times, keys">
              <Avatar name="Ada Lovelace" />
              <Avatar name="Release 2.4" of="agent" />
              {sizes.map(([additions, deletions]) => (
                <Stat key={additions + deletions} additions={additions} deletions={deletions} />
              ))}
              <Time at="2026-01-01T00:00:00Z" />
              <Kbd>Ctrl K</Kbd>
            </Shown>
            <Fields />
            <Lists />
          </Page>
        </div>
      </TwoPane>
    </main>
  )
}

function Shown({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="flex flex-col gap-2">
      <h2 className="text-sm font-semibold text-dim">{title}</h2>
      <div className="flex flex-wrap items-center gap-3">{children}</div>
    </section>
  )
}

function Buttons() {
  return (
    <Shown title="Buttons">
      {kinds.map((kind) => (
        <Button key={kind} kind={kind} onClick={nothing}>
          {kind}
        </Button>
      ))}
      <Button busy>Busy</Button>
      {kinds.map((kind) => (
        <Button key={kind} kind={kind} disabledReason="Enter a title">
          {kind}, disabled
        </Button>
      ))}
      <Tooltip text="Mark as done">
        <Button kind="quiet" onClick={nothing} aria-label="Mark as done">
          ✓
        </Button>
      </Tooltip>
    </Shown>
  )
}

function Fields() {
  const [text, setText] = useState('')
  const [choice, setChoice] = useState<'7' | '30'>('7')
  return (
    <div className={sideBySide}>
      <Input label="Name" hint="What it is for" value={text} onChange={setText} />
      <Select
        label="Expires"
        options={[
          ['7', 'In 7 days'],
          ['30', 'In 30 days'],
        ]}
        value={choice}
        onChange={setChoice}
      />
      <TextArea label="Description" value={text} onChange={setText} wide />
    </div>
  )
}

function Lists() {
  return (
    <>
      <Notice title="The last turn failed" action={<Button onClick={nothing}>Try again</Button>}>
        The model didn't answer.
      </Notice>
      <Notice tone="warn" title="No model is configured" />
      <Notice tone="neutral" title="This change request is a draft" />
      <Tabs.Root defaultValue="files">
        <TabList
          label="Tabs"
          tabs={[
            ['conversation', 'Conversation', 6],
            ['files', 'Files', 5],
          ]}
        />
      </Tabs.Root>
      <GroupHeading title="Review" count={3} />
      <Card title="A list">
        <Rows label="A list">
          <Row>
            <Badge tone="good">ready</Badge>
            <span className="min-w-0 flex-1 font-medium">Retry webhook deliveries with backoff</span>
            <Stat additions={182} deletions={31} />
          </Row>
        </Rows>
        <Skeleton what="rows" rows={2} />
      </Card>
      <Card>
        <Empty command="svc ship">Nothing yet.</Empty>
      </Card>
      <Command>svc sessions new</Command>
    </>
  )
}

function Panel() {
  return (
    <>
      <PanelSection leads title="Ready to land" aside="checked 4 s ago">
        Merges cleanly
      </PanelSection>
      <PanelSection title="Usage">
        <Meter
          of="Model calls"
          label="Model calls"
          words={{ reached: 'cap reached', near: 'near the cap' }}
          used={41}
          limit={50}
          text="41 of 50"
        />
      </PanelSection>
    </>
  )
}
