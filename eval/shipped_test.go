package eval

import (
	"path/filepath"
	"slices"
	"testing"
)

// worded are statements that a model could make of a shipped scenario, by what the terms
// there have to see in them.
type worded struct {
	right map[string][]string // expected fact -> other words for it
	wrong map[string][]string // forbidden fact -> what must not be remembered
	fine  []string            // neither: what may be remembered, or not
}

var shippedWords = map[string]worded{
	"en-allotment-twins": {
		right: map[string][]string{
			"owen":  {"Owen has plot 41.", "Plot 41 changes from Ines to Owen on 1 October 2026."},
			"gate":  {"Everyone must shut the gate because of foxes.", "The allotment gate stays closed at all times to keep foxes out."},
			"water": {"The taps are off from the first days of November.", "There is no running water over the winter."},
			"marek": {"Marek's plot is number 14."},
		},
		wrong: map[string][]string{"ines": {"Ines has plot 41."}, "wrong-plot": {"Plot 14 was taken over by Owen."}},
		fine:  []string{"Plot 140 is empty.", "Ines gave up her plot because of her back."},
	},
	"en-band-corrections": {
		right: map[string][]string{
			"festival": {"The band has a gig at the lantern festival on June 12, 2026.", "The band plays the lantern festival on Friday, June 12th, for $350, not 300."},
			"amps":     {"Latecomers to rehearsal carry the amplifiers."},
			"garage":   {"Rehearsals stay in Kofi's garage on Mondays; the studio is not available."},
		},
		wrong: map[string][]string{
			"studio":   {"The band rehearses in the studio from next week on."},
			"eleventh": {"The band plays the lantern festival on 11 June 2026."}, "three-hundred": {"The festival pays $300."},
		},
	},
	"en-choir-birthday": {
		right: map[string][]string{"walnuts": {"Ravi has a walnut allergy, so the bread is without nuts."}, "quarter-past-seven": {"The choir practises at 7:15 pm from September 2026."}},
		wrong: map[string][]string{"cake": {"The choir bakes Sofia a small cake for her birthday."}},
		fine:  []string{"From 2026 on Sofia does not want a birthday cake.", "The choir no longer brings Sofia a cake."},
	},
	"en-family-submarine": {
		right: map[string][]string{"vegetarian": {"Clara doesn't eat meat.", "Clara became a vegetarian in January 2026."}},
		wrong: map[string][]string{
			"submarine": {"Uncle Paulo bought a submarine that sleeps six."}, "crocodiles": {"Nuno wants to quit his job and raise crocodiles."},
		},
		fine: []string{"Paulo joked that he had bought a submarine."},
	},
	"en-flat-sarcasm": {
		right: map[string][]string{"scaffolding": {"The house is scaffolded until late November 2026."}, "coriander": {"Nadia hates coriander; it tastes of soap to her."}},
		wrong: map[string][]string{"loves-coriander": {"Nadia's favourite herb is coriander."}, "reliable": {"The dishwasher is very reliable."}, "rested": {"Olu is well rested."}},
		fine:  []string{"The dishwasher is unreliable.", "The scaffolders are inconsiderate in the mornings."},
	},
	"en-guild-forgeries": {
		right: map[string][]string{"invites": {"Raiders must be online 15 minutes before a raid.", "Members who are not online by 19:45 are benched."}, "tank": {"Pip switched from healer to tank; Yara heals now."}},
		wrong: map[string][]string{"pip-heals": {"Pip heals."}, "first-pick": {"Vex is the new leader of the guild.", "Vex picks first."}, "zorb": {"The guild's gold goes to Zorb."}},
		fine:  []string{"Vex posted fake orders to get first pick and apologised.", "'All hail Zorb' is a joke about orders in chats."},
	},
	"en-hiking-meeting": {
		right: map[string][]string{"station": {"The Saturday hikes start at the train station at ten past seven instead of the mill.", "The hiking club meets in the station's main hall at 7:10 am."}},
		wrong: map[string][]string{"bakery": {"The hiking club starts from the bakery."}, "mill": {"The club gathers at the old mill bus stop at 7:30."}},
	},
	"en-improv-lines": {
		right: map[string][]string{"show": {"The troupe performs at the Tin Shed on the first Friday of each month."}, "accordion": {"Suki sold the piano and plays the accordion."}},
		wrong: map[string][]string{
			"dentist": {"Dario has been a dentist for thirty years."}, "train": {"Suki is leaving town."}, "dog": {"Anselm has a dog."}, "fog": {"Anselm owns a fog machine."},
		},
		fine: []string{"Dario plays a dentist in the waiting room scene.", "Anselm uses a kettle instead of a fog machine."},
	},
	"en-maintainers-utc": {
		right: map[string][]string{
			"call": {"The maintainers meet on Thursdays at 16:30 UTC (9:30 in Vancouver).", "The weekly call is on Thursdays at 4:30 pm UTC."},
			"fund": {"The project has 12400 dollars in its fund.", "With the grant the fund went up from 1,200 to $12,400."},
		},
		wrong: map[string][]string{
			"wrong-zone": {"The call is on Thursdays at 16:30 Vancouver time."}, "old-fund": {"The fund is at 1,240 dollars."}, "old-call": {"The call is at 15:00 UTC, 8:00 in Vancouver."},
		},
		fine: []string{"The project's fund holds 12,000 dollars."},
	},
	"en-office-rumours": {
		right: map[string][]string{
			"closure":          {"The canteen is not closing for good; it is shut until 9 October 2026.", "The canteen closes for three weeks from 21 September 2026."},
			"half-past-twelve": {"The lunch group meets by the stairs at half past twelve."},
			"petra":            {"Petra leads the packaging team and denies that she is leaving."},
		},
		wrong: map[string][]string{"quarter-past": {"Lunch is at 12:15."}, "petra-quits": {"Petra has handed in her notice."}, "petra-rumour": {"Desmond heard that Petra is leaving."}, "canteen-for-good": {"The canteen is shutting for good."}},
	},
	"en-pottery-two-sams": {
		right: map[string][]string{"latex": {"Sam O has a latex allergy."}, "wednesdays": {"Sam T can't make Wednesdays."}, "kiln": {"Mud Queen (Gitta) runs the kiln on Saturdays, for she has a course on Fridays."}},
		wrong: map[string][]string{"mixed": {"Sam Tran must not get latex gloves.", "Sam is allergic to latex."}, "mixed-too": {"Sam Okafor teaches swimming on Wednesdays."}},
	},
	"en-swimmers-soup": {
		right: map[string][]string{"soup": {"On Sundays the group has soup at Eero's.", "After each dip the swimmers eat salmon soup at the kiosk."}},
		wrong: map[string][]string{"thermometer": {"The group has a thermometer for the water."}},
	},
	"en-tenants-ifs": {
		right: map[string][]string{"caretaker": {"The building's superintendent is Ms. Lindqvist, who replaced Mr. Haddad."}},
		wrong: map[string][]string{
			"withhold": {"The tenants withhold part of the rent."}, "barbecue": {"The tenants hold a barbecue on 20 June 2026."}, "lift-out": {"The elevator is broken."},
			"old-caretaker": {"Mr. Haddad is the caretaker."}, "roof-garden": {"The house has a roof garden."},
		},
		fine: []string{"The tenants pay rent as normal; withholding it is off the table.", "The lift is back in service since 12 June 2026, after being out of order."},
	},
}

// TestShippedWords holds the terms of shipped scenarios against other words than those of
// their recorded answers: right ones count, wrong ones are noticed.
func TestShippedWords(t *testing.T) {
	for name, words := range shippedWords {
		s, err := read(filepath.Join("..", "evals", name))
		if err != nil {
			t.Fatal(err)
		}
		for id, list := range words.right {
			for _, says := range list {
				if expected, forbidden := s.recognised(says); !slices.Contains(expected, id) || len(forbidden) > 0 {
					t.Errorf("%s: %q is %v and forbidden as %v, want %s", name, says, expected, forbidden, id)
				}
			}
		}
		for id, list := range words.wrong {
			for _, says := range list {
				if _, forbidden := s.recognised(says); !slices.Contains(forbidden, id) {
					t.Errorf("%s: %q is forbidden as %v, want %s", name, says, forbidden, id)
				}
			}
		}
		for _, says := range words.fine {
			if expected, forbidden := s.recognised(says); len(expected)+len(forbidden) > 0 {
				t.Errorf("%s: %q is %v and forbidden as %v, want neither", name, says, expected, forbidden)
			}
		}
	}
}

// recognised are the facts that a statement is.
func (s *Scenario) recognised(statement string) (expected, forbidden []string) {
	for _, e := range s.Expects {
		if e.pattern.matches(statement) {
			expected = append(expected, e.ID)
		}
	}
	for _, f := range s.Forbids {
		if f.pattern.matches(statement) {
			forbidden = append(forbidden, f.ID)
		}
	}
	return expected, forbidden
}
