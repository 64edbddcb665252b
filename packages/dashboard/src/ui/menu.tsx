import { Menu } from '@base-ui/react/menu'
import { type ReactNode, useState } from 'react'

const itemClass =
  'flex min-h-control cursor-pointer items-center gap-2 rounded-md px-2 text-sm outline-none data-highlighted:bg-hover'

/** The trigger of a `Menu.Root` opens it. It belongs to the landmark of its trigger, beside which it stands. */
export function MenuPopup({ align, children }: { align: 'start' | 'end'; children: ReactNode }) {
  const [place, setPlace] = useState<HTMLElement | null>(null)
  return (
    <>
      <span hidden ref={setPlace} />
      <Menu.Portal container={place?.closest<HTMLElement>('main, [role=dialog]') ?? place?.closest('header') ?? null}>
        <Menu.Positioner sideOffset={4} align={align} collisionPadding={8} className="z-50">
          <Menu.Popup className="max-h-(--available-height) max-w-[min(20rem,var(--available-width))] min-w-52 overflow-y-auto rounded-lg border border-line bg-raised p-1 shadow-float outline-none">
            {children}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </>
  )
}

export function MenuItem({ onClick, children }: { onClick: () => void; children: ReactNode }) {
  return (
    <Menu.Item className={itemClass} onClick={onClick}>
      {children}
    </Menu.Item>
  )
}

export function MenuSeparator() {
  return <Menu.Separator className="-mx-1 my-1 border-t border-line" />
}

/** One of several values. */
export function MenuChoice<Value extends string>({
  label,
  options,
  value,
  onChange,
  closeOnClick,
}: {
  label: string
  options: readonly (readonly [value: Value, label: string])[]
  value: Value
  onChange: (value: Value) => void
  closeOnClick: boolean
}) {
  return (
    <Menu.RadioGroup aria-label={label} value={value} onValueChange={onChange}>
      {options.map(([value, label]) => (
        <Menu.RadioItem key={value} value={value} className={itemClass} closeOnClick={closeOnClick}>
          <Menu.RadioItemIndicator keepMounted className="w-3 data-unchecked:invisible">
            ✓
          </Menu.RadioItemIndicator>
          <span className="truncate">{label}</span>
        </Menu.RadioItem>
      ))}
    </Menu.RadioGroup>
  )
}
