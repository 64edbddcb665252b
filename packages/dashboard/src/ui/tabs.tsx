import { Tabs } from '@base-ui/react/tabs'

interface Listed<Value extends string> {
  label: string
  tabs: readonly (readonly [value: Value, label: string, count?: number])[]
}

/** The tabs of a `Tabs.Root`, with a line below them. */
export function TabList<Value extends string>({ label, tabs }: Listed<Value>) {
  return (
    <Tabs.List aria-label={label} className="flex gap-4 overflow-x-auto border-b border-line">
      {tabs.map(([value, name, count]) => (
        <Tabs.Tab
          key={value}
          value={value}
          // The list cuts what is outside of it, so the focus ring is inside.
          className="-mb-px flex items-center gap-1 border-b-2 border-transparent py-2 text-sm font-medium whitespace-nowrap text-dim -outline-offset-2 hover:text-text data-active:border-accent data-active:text-text"
        >
          {name}
          {count !== undefined && <span className="text-faint">{count}</span>}
        </Tabs.Tab>
      ))}
    </Tabs.List>
  )
}
