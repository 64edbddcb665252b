import { Menu } from '@base-ui/react/menu'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { chooseAccount } from '../../browser/account-choice.ts'
import { api, reply } from '../../api.ts'
import { paths } from '../../paths.ts'
import type { Role } from '../../pages/account/queries.ts'
import { applyTheme, theme, type Theme } from '../../browser/theme.ts'

const item = 'flex min-h-9 cursor-pointer items-center gap-2 rounded px-3 data-highlighted:bg-sunken outline-none'
const themes = [
  ['system', 'System theme'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const

const pages = [
  [paths.members, 'Members'],
  [paths.tokens, 'Tokens'],
  [paths.usage, 'Usage'],
  [paths.audit, 'Audit'],
  [paths.modelSettings, 'Model'],
  [paths.profile, 'Profile'],
] as const

interface Account {
  account_id: string
  name: string
  role: Role
}

export function UserMenu({ name, account, accounts }: { name: string; account: Account; accounts: Account[] }) {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [chosen, setChosen] = useState(theme)
  const isOwner = accounts.some(({ role }) => role === 'owner')
  const switchTo = async (accountId: string) => {
    chooseAccount(accountId)
    await navigate({ to: paths.projects })
    await queries.invalidateQueries()
  }
  const chooseTheme = (next: Theme) => {
    setChosen(next)
    applyTheme(next)
  }
  const signOut = async () => {
    await reply(api.POST('/v1/sign-out'))
    location.assign(paths.signIn)
  }
  return (
    <Menu.Root>
      <Menu.Trigger className="min-h-9 max-w-48 truncate rounded px-2 text-dim hover:text-text">{name}</Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={6} align="end" className="z-50">
          <Menu.Popup className="min-w-52 rounded-lg border border-line bg-ground p-1.5 shadow-lg outline-none">
            {accounts.length === 1 ? (
              <p className="px-3 py-1 text-sm text-dim">{account.name}</p>
            ) : (
              <Choice
                label="Account"
                options={accounts.map((each) => [each.account_id, each.name])}
                value={account.account_id}
                onChange={(accountId) => void switchTo(accountId)}
                closeOnClick
              />
            )}
            <Menu.Separator className="my-1.5 border-t border-line" />
            {pages.map(
              ([to, label]) =>
                (isOwner || to !== paths.modelSettings) && (
                  <Menu.Item key={to} className={item} onClick={() => void navigate({ to })}>
                    {label}
                  </Menu.Item>
                ),
            )}
            <Menu.Separator className="my-1.5 border-t border-line" />
            <Choice label="Theme" options={themes} value={chosen} onChange={chooseTheme} closeOnClick={false} />
            <Menu.Separator className="my-1.5 border-t border-line" />
            <Menu.Item className={item} onClick={signOut}>
              Sign out
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}

function Choice<Value extends string>({
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
        <Menu.RadioItem key={value} value={value} className={item} closeOnClick={closeOnClick}>
          <Menu.RadioItemIndicator keepMounted className="w-3 data-unchecked:invisible">
            ✓
          </Menu.RadioItemIndicator>
          <span className="truncate">{label}</span>
        </Menu.RadioItem>
      ))}
    </Menu.RadioGroup>
  )
}
