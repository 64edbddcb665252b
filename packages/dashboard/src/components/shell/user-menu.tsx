import { Menu } from '@base-ui/react/menu'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useSyncExternalStore } from 'react'
import { subscribeToAppearance } from '../../browser/appearance.ts'
import { chooseAccount } from '../../browser/account-choice.ts'
import { applyDensity, density } from '../../browser/density.ts'
import { applyTheme, theme } from '../../browser/theme.ts'
import type { Role } from '../../pages/account/queries.ts'
import { paths } from '../../paths.ts'
import { Avatar } from '../../ui/avatar.tsx'
import { MenuChoice, MenuItem, MenuPopup, MenuSeparator } from '../../ui/menu.tsx'
import { accountPages, mayRead, ofOwners } from './rooms.ts'
import { signOut } from './sign-out.ts'

const themes = [
  ['system', 'System theme'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const
const densities = [
  ['comfortable', 'Comfortable rows'],
  ['compact', 'Compact rows'],
] as const

interface Account {
  account_id: string
  name: string
  role: Role
}

export function UserMenu({ name, account, accounts }: { name: string; account: Account; accounts: Account[] }) {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const isOwner = accounts.some(({ role }) => role === 'owner')
  const switchTo = async (accountId: string) => {
    chooseAccount(accountId)
    await navigate({ to: paths.projects })
    await queries.invalidateQueries()
  }
  return (
    <Menu.Root>
      <Menu.Trigger className="flex min-h-9 flex-none items-center gap-2 rounded-md px-2 text-left text-sm text-dim hover:bg-hover hover:text-text">
        <Avatar name={name} />
        <span className="min-w-0 flex-1 truncate">{name}</span>
        <span className="max-w-24 truncate text-xs font-semibold text-faint">{account.name}</span>
        <span className="sr-only">Account menu</span>
      </Menu.Trigger>
      <MenuPopup align="start">
        {accounts.length === 1 ? (
          <p className="px-2 py-1 text-sm text-faint">{account.name}</p>
        ) : (
          <MenuChoice
            label="Account"
            options={accounts.map((each) => [each.account_id, each.name])}
            value={account.account_id}
            onChange={(accountId) => void switchTo(accountId)}
            closeOnClick
          />
        )}
        <MenuSeparator />
        {accountPages.map(
          ([to, label]) =>
            (isOwner || !ofOwners.includes(to)) &&
            mayRead(to, account.role) && (
              <MenuItem key={to} onClick={() => void navigate({ to })}>
                {label}
              </MenuItem>
            ),
        )}
        <MenuSeparator />
        <Appearance />
        <MenuSeparator />
        <MenuItem onClick={() => void signOut()}>Sign out</MenuItem>
      </MenuPopup>
    </Menu.Root>
  )
}

function Appearance() {
  const chosenTheme = useSyncExternalStore(subscribeToAppearance, theme)
  const chosenDensity = useSyncExternalStore(subscribeToAppearance, density)
  return (
    <>
      <MenuChoice label="Theme" options={themes} value={chosenTheme} onChange={applyTheme} closeOnClick={false} />
      <MenuSeparator />
      <MenuChoice
        label="Density"
        options={densities}
        value={chosenDensity}
        onChange={applyDensity}
        closeOnClick={false}
      />
    </>
  )
}
