"""One net in PNML as four tools write it: a, b and an inhibitor from c to the transition that needs two tokens of a."""

HEAD = '<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml"><net id="n" type="{}">'
ISO = HEAD.format("http://www.pnml.org/version-2009/grammar/ptnet")
CORE = HEAD.format("http://www.pnml.org/version-2009/grammar/pnmlcoremodel")

SAMPLES = {
    "iso": ISO + """<name><text>one</text></name><page id="g">
<place id="a"><name><text>a</text><graphics><offset x="1" y="2"/></graphics></name><initialMarking><text>2</text>
</initialMarking><graphics><position x="1" y="1"/></graphics></place><place id="b"/><place id="c"/>
<transition id="t"/><arc id="1" source="a" target="t"><inscription><text>2</text></inscription></arc>
<arc id="2" source="t" target="b"/><page id="h"><referencePlace id="r" ref="c"/>
<arc id="3" source="r" target="t"><type value="inhibitor"/></arc></page></page></net></pnml>""",
    "own": ISO + """<toolspecific tool="npexplore" version="1"><timing>race</timing></toolspecific><page id="g">
<place id="a"><initialMarking><text>2</text></initialMarking><toolspecific tool="npexplore" version="1"><capacity>4
</capacity></toolspecific></place><place id="b"/><place id="c"/>
<transition id="t"><toolspecific tool="npexplore" version="1"><rate>2.0</rate><servers>all</servers></toolspecific>
</transition><arc id="1" source="a" target="t"><inscription><text>2</text></inscription></arc>
<arc id="2" source="t" target="b"/><arc id="3" source="c" target="t"><type value="inhibitor"/></arc>
</page></net></pnml>""",
    "pm4py": CORE + """<name><text>one</text></name><page id="n0">
<place id="a"><name><text>a</text></name><initialMarking><text>2</text></initialMarking></place><place id="b"/>
<place id="c"/><transition id="t"><name><text>t</text></name><toolspecific tool="StochasticPetriNet" version="0.2">
<property key="distributionType">EXPONENTIAL</property><property key="distributionParameters">2.0</property>
<property key="priority">0</property><property key="invisible">false</property><property key="weight">1.0</property>
</toolspecific><toolspecific tool="ProM" version="6.4" activity="$invisible$" localNodeID="1"/></transition>
<arc id="1" source="a" target="t"><inscription><text>2</text></inscription></arc><arc id="2" source="t" target="b"/>
<arc id="3" source="c" target="t"><arctype><text>inhibitor</text></arctype></arc></page><finalmarkings><marking>
<place idref="b"><text>1</text></place></marking></finalmarkings></net></pnml>""",
    "pipe": """<pnml><net id="Net-One" type="P/T net"><token id="Default" enabled="true" red="0" green="0" blue="0"/>
<place id="a"><graphics><position x="1" y="2"/></graphics><name><value>a</value></name><initialMarking>
<value>Default,2</value></initialMarking><capacity><value>0</value></capacity></place>
<place id="b"/><place id="c"/><transition id="t"><name><value>t</value></name><orientation><value>0</value>
</orientation><rate><value>2.0</value></rate><timed><value>true</value></timed><infiniteServer><value>false</value></infiniteServer>
<priority><value>1</value></priority></transition><arc id="1" source="a" target="t"><inscription>
<value>Default,2</value></inscription><tagged><value>false</value></tagged><type value="normal"/></arc>
<arc id="2" source="t" target="b"/><arc id="3" source="c" target="t"><type value="inhibitor"/></arc></net></pnml>""",
    "tapaal": """<pnml><net active="true" id="N" type="P/T net">
<place id="a" initialMarking="2" invariant="&lt; inf" name="a" positionX="1" positionY="2"/>
<place id="b"/><place id="c"/>
<transition id="t" name="t" angle="0" infiniteServer="false" priority="0" urgent="false" player="0"/>
<arc id="1" source="a" target="t" inscription="[0,inf)" type="timed" weight="2"/>
<arc id="2" source="t" target="b" inscription="1" type="normal"/>
<arc id="3" source="c" target="t" inscription="[0,inf)" type="tapnInhibitor" weight="1"/></net></pnml>""",
}  # fmt: skip
